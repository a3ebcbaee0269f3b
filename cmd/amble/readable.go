package main

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readable is the text that an HTML page shows: white space folded, a line for each block, no scripts and styles.
func readable(doc string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(doc))
	var hidden atom.Atom // the element whose content is not shown, 0 outside of one
	gap, fresh := false, true
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !fresh {
				b.WriteByte('\n')
			}
			return b.String()
		case html.TextToken:
			if hidden != 0 {
				continue
			}
			text := string(z.Text())
			words := strings.Fields(html.UnescapeString(text))
			if len(words) == 0 {
				gap = gap || text != ""
				continue
			}
			if (gap || strings.TrimLeft(text, " \t\r\n\f") != text) && !fresh {
				b.WriteByte(' ')
			}
			b.WriteString(strings.Join(words, " "))
			gap, fresh = strings.TrimRight(text, " \t\r\n\f") != text, false
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			tok := z.Token()
			switch tok.DataAtom {
			case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head:
				if tok.Type == html.StartTagToken && hidden == 0 {
					hidden = tok.DataAtom
				} else if tok.Type == html.EndTagToken && hidden == tok.DataAtom {
					hidden = 0
				}
			case atom.Body:
				hidden = 0
			default:
				if !inline[tok.DataAtom] && !fresh {
					b.WriteByte('\n')
					gap, fresh = false, true
				}
			}
		}
	}
}

// inline are the elements that do not begin a new line.
var inline = map[atom.Atom]bool{
	0: true, atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Button: true,
	atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true,
	atom.I: true, atom.Img: true, atom.Input: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true,
	atom.Q: true, atom.Rp: true, atom.Rt: true, atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Small: true,
	atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true,
	atom.Wbr: true,
}
