package links

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"amble/frontier/canon"
)

// Extract reads an HTML document that is already UTF-8. charset is the encoding it came in, for query strings.
func Extract(doc []byte, base canon.URL, charset string, opt Options) Page {
	e := extractor{scan: scanner{doc: doc}, opt: opt, anchor: -1}
	e.page.Base = base
	e.run()
	e.resolve(charset)
	return e.page
}

// reference is one found in the document and not resolved yet, since the base
// may come after it. Its bytes stand in the arena.
type reference struct {
	start, end         int
	textStart, textEnd int
	rel                string
	hop                byte
	noFollow           bool
}

type extractor struct {
	scan scanner
	opt  Options
	page Page

	// arena holds what references and anchor texts are made of, so that a page costs
	// one string and not one a link.
	arena      []byte
	references []reference

	// baseRef is the href of the first base element that has one.
	baseRef string
	hasBase bool
	// inTitle: the next text token is the document's title.
	inTitle, hasTitle bool
	// templates and svgs are how many inert templates and svg elements are open.
	templates, svgs int
	// anchor is the reference whose text is being collected, or -1.
	anchor     int
	anchorText []byte
	// unescaped holds the current tag's attributes that had character references.
	unescaped []byte
}

func (e *extractor) run() {
	for {
		kind := e.scan.next()
		switch kind {
		case endOfDocument:
			e.endAnchor()
			return
		case textToken:
			e.text(e.scan.text)
			continue
		}
		e.inTitle = false
		// No element that matters here has a longer name.
		if len(e.scan.name) > len("noscript") {
			continue
		}
		var lower [len("noscript")]byte
		name := toLower(lower[:0], e.scan.name)
		if kind == startTag {
			e.startTag(name)
		} else {
			e.endTag(name)
		}
	}
}

func (e *extractor) text(text []byte) {
	switch {
	case e.inTitle:
		e.inTitle, e.hasTitle = false, true
		e.page.Title = string(clip(fold(nil, unescapeText(text), titleBytes), titleBytes))
	case e.anchor >= 0 && len(e.anchorText) <= textBytes:
		e.anchorText = fold(e.anchorText, unescapeText(text), textBytes)
	}
}

// unescapeText replaces the character references in text, of which it looks at
// no more than a title or an anchor's text could be made of.
func unescapeText(text []byte) []byte {
	text = text[:min(len(text), 32*titleBytes)]
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}

func (e *extractor) startTag(name []byte) {
	empty := e.scan.selfClosing && e.opt.XHTML
	if empty {
		e.scan.raw = ""
	}
	if e.templates > 0 {
		if string(name) == "template" && !empty {
			e.templates++
		}
		return
	}
	switch string(name) {
	case "a":
		e.endAnchor()
		a := e.attributes()
		href := a.href
		if href == nil && e.svgs > 0 {
			href = a.xlinkHref
		}
		if href != nil {
			if i := e.add(href, "a", Link, noFollow(a.rel)); e.opt.Text {
				e.anchor = i
			}
		}
	case "area":
		if a := e.attributes(); a.href != nil {
			e.add(a.href, "area", Link, noFollow(a.rel))
		}
	case "base":
		if a := e.attributes(); a.href != nil && !e.hasBase {
			e.hasBase, e.baseRef = true, string(a.href)
		}
	case "html":
		if a := e.attributes(); e.page.Lang == "" {
			e.page.Lang = string(clip(bytes.TrimSpace(a.lang), textBytes))
		}
	case "title":
		e.inTitle = !e.hasTitle && e.svgs == 0 && !empty
	case "link":
		e.link(e.attributes())
	case "meta":
		e.meta(e.attributes())
	case "iframe":
		e.embed(e.attributes().src, "iframe")
	case "frame":
		e.embed(e.attributes().src, "frame")
	case "img":
		a := e.attributes()
		e.embed(a.src, "img")
		e.srcset(a.srcset, "img/srcset")
	case "source":
		a := e.attributes()
		e.embed(a.src, "source")
		e.srcset(a.srcset, "source/srcset")
	case "video":
		a := e.attributes()
		e.embed(a.src, "video")
		e.embed(a.poster, "video/poster")
	case "audio":
		e.embed(e.attributes().src, "audio")
	case "track":
		e.embed(e.attributes().src, "track")
	case "embed":
		e.embed(e.attributes().src, "embed")
	case "script":
		e.embed(e.attributes().src, "script")
	case "object":
		e.embed(e.attributes().data, "object")
	case "input":
		if a := e.attributes(); strings.EqualFold(string(a.kind), "image") {
			e.embed(a.src, "input")
		}
	case "image", "use":
		if e.svgs == 0 {
			return
		}
		rel := "image"
		if name[0] == 'u' {
			rel = "use"
		}
		a := e.attributes()
		if a.href == nil {
			a.href = a.xlinkHref
		}
		// Most uses point into their own document.
		if len(a.href) > 0 && a.href[0] != '#' {
			e.embed(a.href, rel)
		}
	case "svg":
		if !e.scan.selfClosing {
			e.svgs++
		}
	case "template":
		if a := e.attributes(); a.shadowRoot == nil && !empty {
			e.templates++
		}
	case "noscript", "noframes":
		e.scan.raw = ""
	}
}

func (e *extractor) endTag(name []byte) {
	switch string(name) {
	case "a":
		if e.templates == 0 {
			e.endAnchor()
		}
	case "svg":
		if e.templates == 0 && e.svgs > 0 {
			e.svgs--
		}
	case "template":
		if e.templates > 0 {
			e.templates--
		}
	}
}

func (e *extractor) endAnchor() {
	if e.anchor < 0 {
		return
	}
	r := &e.references[e.anchor]
	r.textStart = len(e.arena)
	e.arena = append(e.arena, clip(bytes.TrimSuffix(e.anchorText, []byte(" ")), textBytes)...)
	r.textEnd = len(e.arena)
	e.anchor, e.anchorText = -1, e.anchorText[:0]
}

// add notes a reference and returns its index, or -1 where there are too many.
func (e *extractor) add(ref []byte, rel string, hop byte, noFollow bool) int {
	if len(e.references) >= MaxOutlinks {
		e.page.Dropped++
		return -1
	}
	start := len(e.arena)
	e.arena = append(e.arena, trim(ref)...)
	e.references = append(e.references, reference{start: start, end: len(e.arena), rel: rel, hop: hop, noFollow: noFollow})
	return len(e.references) - 1
}

// embed notes an embedded resource; an empty attribute embeds nothing.
func (e *extractor) embed(ref []byte, rel string) {
	if len(trim(ref)) > 0 {
		e.add(ref, rel, Embed, false)
	}
}

func (e *extractor) link(a attributes) {
	if len(trim(a.href)) > 0 {
		if rel, hop := linkRelation(a.rel); hop != 0 {
			e.add(a.href, rel, hop, noFollow(a.rel))
		}
	}
	e.srcset(a.srcset, "link/imagesrcset")
}

func (e *extractor) meta(a attributes) {
	if bytes.EqualFold(trim(a.httpEquiv), []byte("refresh")) {
		if ref, ok := refreshURL(a.content); ok {
			e.add(ref, "meta/refresh", Redirect, false)
		}
	}
	name := trim(a.name)
	if len(name) > 0 && a.content != nil &&
		(bytes.EqualFold(name, []byte("robots")) || strings.EqualFold(string(name), e.opt.Product)) {
		e.page.RobotsMeta = append(e.page.RobotsMeta, strings.ToLower(string(trim(a.content))))
	}
}

// srcset notes the candidates of an image source set (HTML standard, section 4.8.4.3.10).
func (e *extractor) srcset(set []byte, rel string) {
	for {
		set = bytes.TrimLeft(set, asciiSpace+",")
		if len(set) == 0 {
			return
		}
		end := bytes.IndexAny(set, asciiSpace)
		if end < 0 {
			end = len(set)
		}
		candidate := set[:end]
		set = set[end:]
		if bare := bytes.TrimRight(candidate, ","); len(bare) < len(candidate) {
			e.embed(bare, rel)
			continue
		}
		e.embed(candidate, rel)
		set = skipDescriptors(set)
	}
}

// skipDescriptors is what follows the comma that ends a candidate; commas in parentheses do not.
func skipDescriptors(set []byte) []byte {
	inParens := false
	for i, c := range set {
		switch {
		case c == '(':
			inParens = true
		case c == ')':
			inParens = false
		case c == ',' && !inParens:
			return set[i+1:]
		}
	}
	return nil
}
