package configs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// applyYAML reads one file over what is there. Every error names file and line.
func (l *Loaded) applyYAML(file string, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	tokens := lexer.Tokenize(string(text))
	if at := tooDeep(tokens); at > 0 {
		return fmt.Errorf("%s:%d: brackets or blocks are nested more than %d deep; a configuration has at most four levels", file, at, maxNesting)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return syntaxError(file, err)
	}
	for i, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if i > 0 {
			return fmt.Errorf("%s:%d: a second document: one file holds one configuration", file, line(doc.Body))
		}
		err := eachPair(file, doc.Body, func(at, key string, value ast.Node) error {
			if key == "hosts" {
				return l.applyHosts(file, value)
			}
			values, err := scalars(value)
			if err == nil {
				err = l.Config.Set(key, values...)
			}
			if err != nil {
				return describe(at, key, err)
			}
			l.sources[key] = at
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxNesting is how deep a file may be nested. The parser calls itself for each level, and its time grows with them.
const maxNesting = 64

// tooDeep is the line where the nesting exceeds maxNesting, 0 where it does not. Brackets count, and the columns at which
// blocks begin.
func tooDeep(tokens token.Tokens) (at int) {
	brackets, lastLine := 0, 0
	var blocks []int // columns, ascending
	begins := true   // the token begins a line, or stands behind the sign of an entry
	for _, t := range tokens {
		if t.Position == nil {
			continue
		}
		if t.Position.Line != lastLine {
			begins, lastLine = true, t.Position.Line
		}
		if begins && brackets == 0 {
			for len(blocks) > 0 && blocks[len(blocks)-1] >= t.Position.Column {
				blocks = blocks[:len(blocks)-1]
			}
			blocks = append(blocks, t.Position.Column)
		}
		begins = t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(0, brackets-1)
		}
		if brackets+len(blocks) > maxNesting {
			return t.Position.Line
		}
	}
	return 0
}

// applyHosts replaces what earlier layers said of each host that is named.
func (l *Loaded) applyHosts(file string, node ast.Node) error {
	if node.Type() == ast.NullType {
		return nil
	}
	return eachPair(file, node, func(at, name string, value ast.Node) error {
		var host Host
		err := eachPair(file, value, func(at, key string, value ast.Node) error {
			if key == "label" {
				return eachPair(file, value, func(at, label string, value ast.Node) error {
					values, err := scalars(value)
					if err == nil && len(values) == 1 {
						err = host.setLabel(label, values[0])
					}
					return describe(at, "label."+label, err)
				})
			}
			values, err := scalars(value)
			if err != nil {
				return describe(at, key, err)
			}
			if label, ok := strings.CutPrefix(key, labelPrefix); ok && len(values) == 1 {
				return describe(at, key, host.setLabel(label, values[0]))
			}
			return describe(at, key, setKey(&host, key, values))
		})
		if err != nil {
			return err
		}
		if l.Hosts == nil {
			l.Hosts = make(map[string]Host)
		}
		l.Hosts[name] = host
		l.sources["hosts."+name] = at
		return nil
	})
}

// describe puts place and key before an error; an unknown key names itself.
func describe(at, key string, err error) error {
	if err == nil {
		return nil
	}
	if strings.HasPrefix(err.Error(), "unknown key") {
		return fmt.Errorf("%s: %w", at, err)
	}
	return fmt.Errorf("%s: %s: %w", at, key, err)
}

// eachPair walks a mapping; at is "file:line" of the key.
func eachPair(file string, node ast.Node, visit func(at, key string, value ast.Node) error) error {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return fmt.Errorf("%s:%d: keys with values are expected here, as in \"floor: 2s\"", file, line(node))
	}
	for _, pair := range pairs {
		at := fmt.Sprintf("%s:%d", file, line(pair.Key))
		key, err := scalar(pair.Key)
		if err != nil || pair.Key.IsMergeKey() {
			return fmt.Errorf("%s: a plain key is expected here", at)
		}
		if err := visit(at, key, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

// scalars are the texts of a scalar or of a sequence of scalars, as they are written; null is an empty list.
func scalars(node ast.Node) ([]string, error) {
	switch n := node.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.SequenceNode:
		values := make([]string, 0, len(n.Values))
		for _, v := range n.Values {
			s, err := scalar(v)
			if err != nil {
				return nil, err
			}
			values = append(values, s)
		}
		return values, nil
	}
	s, err := scalar(node)
	return []string{s}, err
}

func scalar(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, nil
	}
	return "", errors.New("a plain value or a list of them is expected")
}

func line(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// syntaxError turns the parser's many lines into one.
func syntaxError(file string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		return fmt.Errorf("%s:%d: %s", file, y.GetToken().Position.Line, y.GetMessage())
	}
	return fmt.Errorf("%s: %w", file, err)
}
