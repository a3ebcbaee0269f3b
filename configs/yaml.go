package configs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// applyYAML reads one file over what is there. Every error names file and line.
func (l *Loaded) applyYAML(file string, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	parsed, err := parser.ParseBytes(text, 0)
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
