package sitemap

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"
)

// format is a vocabulary of XML. Names are compared without their namespace, which files get wrong more often than not; the
// prefix serves to tell extensions (image:loc) from what they extend.
type format byte

const (
	unknownFormat format = iota
	sitemapFormat
	rssFormat
	atomFormat
)

// rootFormat tells the vocabulary by the first element. A file that lost its root is taken as well.
func rootFormat(local string) format {
	switch local {
	case "urlset", "sitemapindex", "url", "sitemap":
		return sitemapFormat
	case "rss", "RDF":
		return rssFormat
	case "feed":
		return atomFormat
	}
	return unknownFormat
}

// isContainer says whether an element holds one entry.
func (f format) isContainer(local string) bool {
	switch f {
	case sitemapFormat:
		return local == "url" || local == "sitemap"
	case rssFormat:
		return local == "item"
	case atomFormat:
		return local == "entry"
	}
	return false
}

type field byte

const (
	noField field = iota
	locField
	dateField
	priorityField
)

// fieldOf is what a child of a container says. own: it has the container's prefix.
func (f format) fieldOf(local string, own bool) field {
	switch {
	case f == rssFormat && local == "date":
		// Dublin Core's, as RSS 1.0 has it.
		return dateField
	case !own:
		return noField
	}
	switch local {
	case "loc":
		if f == sitemapFormat {
			return locField
		}
	case "lastmod":
		if f == sitemapFormat {
			return dateField
		}
	case "priority":
		if f == sitemapFormat {
			return priorityField
		}
	case "link":
		if f == rssFormat {
			return locField
		}
	case "pubDate":
		if f == rssFormat {
			return dateField
		}
	case "updated", "modified":
		if f == atomFormat {
			return dateField
		}
	}
	return noField
}

const (
	maxDepth = 64
	// maxPending is how many locations of one entry wait for its end, where its lastmod is known.
	maxPending = 32
)

// xmlParser holds the open elements and the entry at hand.
type xmlParser struct {
	out    *sink
	format format
	// stack are the qualified names of the open elements.
	stack []string
	// container is the depth of the open container, 0 for none; field that of the open field.
	container, fieldDepth int
	field                 field
	text                  []byte
	long                  bool

	locs     []string
	lastMod  time.Time
	priority float64
	ended    bool
	names    map[string]string
}

func parseXML(in *bufio.Reader, out *sink) error {
	p := &xmlParser{out: out, names: make(map[string]string)}
	t := &tokens{in: in}
	for {
		tok, err := t.next()
		if err != nil {
			return p.end(err)
		}
		switch tok.kind {
		case textToken, cdataToken:
			p.addText(tok)
		case startToken:
			err = p.start(tok)
		case endToken:
			err = p.close(p.intern(tok.name))
		}
		if err != nil {
			return err
		}
	}
}

// end is for the end of the input. What the entry at hand has in whole is still good.
func (p *xmlParser) end(cause error) error {
	if p.format == unknownFormat {
		if cause == io.EOF {
			return ErrNotSitemap
		}
		return cause
	}
	if err := p.flush(); err != nil {
		return err
	}
	// What follows the document, such as padding of a gzip file, is nobody's loss.
	if cause == io.EOF || p.ended && cause != ErrLimit {
		return nil
	}
	return cause
}

func (p *xmlParser) start(tok token) error {
	name := p.intern(tok.name)
	prefix, local := split(name)
	if p.format == unknownFormat {
		if p.format = rootFormat(local); p.format == unknownFormat {
			return ErrNotSitemap
		}
	}
	if p.container > 0 && name == p.stack[p.container-1] {
		// The end tag of the entry before is missing.
		if err := p.close(name); err != nil {
			return err
		}
	}
	if len(p.stack) == maxDepth {
		return nil
	}
	p.stack = append(p.stack, name)
	switch {
	case p.container == 0 && p.format.isContainer(local):
		p.container = len(p.stack)
		p.lastMod, p.priority = time.Time{}, defaultPriority
	case p.container > 0 && len(p.stack) == p.container+1:
		outer, _ := split(p.stack[p.container-1])
		if p.format == atomFormat && local == "link" && prefix == outer {
			if err := p.atomLink(tok.attrs); err != nil {
				return err
			}
		}
		if f := p.format.fieldOf(local, prefix == outer); f != noField {
			p.field, p.fieldDepth = f, len(p.stack)
			p.text, p.long = p.text[:0], false
		}
	}
	if tok.empty {
		return p.close(name)
	}
	return nil
}

// atomLink takes the link of an entry to its page (RFC 4287 section 4.2.7.2).
func (p *xmlParser) atomLink(attrs []byte) error {
	href, ok := attribute(attrs, "href")
	if rel, has := attribute(attrs, "rel"); !ok || has && rel != "alternate" {
		return nil
	}
	return p.addLoc([]byte(href))
}

func (p *xmlParser) addText(tok token) {
	if p.field == noField || len(p.stack) != p.fieldDepth || p.long {
		return
	}
	if len(p.text)+len(tok.text) > maxLocation {
		p.long = true
		return
	}
	if tok.kind == cdataToken {
		p.text = append(p.text, tok.text...)
	} else {
		p.text = appendText(p.text, tok.text)
	}
}

// close ends the innermost open element called name and those within it; an end tag for none is passed over.
func (p *xmlParser) close(name string) error {
	at := len(p.stack)
	for at > 0 && p.stack[at-1] != name {
		at--
	}
	if at == 0 {
		return nil
	}
	if p.field != noField && p.fieldDepth >= at {
		if err := p.closeField(); err != nil {
			return err
		}
	}
	if p.container >= at {
		if err := p.flush(); err != nil {
			return err
		}
		p.container = 0
	}
	p.stack = p.stack[:at-1]
	p.ended = len(p.stack) == 0
	return nil
}

func (p *xmlParser) closeField() error {
	f := p.field
	p.field = noField
	if p.long {
		return nil
	}
	switch f {
	case locField:
		return p.addLoc(p.text)
	case dateField:
		if t := parseW3C(string(p.text)); !t.IsZero() {
			p.lastMod = t
		} else if p.format == rssFormat {
			p.lastMod = parseRFC822(string(p.text))
		}
	case priorityField:
		p.priority = parsePriority(string(p.text))
	}
	return nil
}

func (p *xmlParser) addLoc(text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(text) > maxLocation {
		return nil
	}
	p.locs = append(p.locs, toUTF8(text, p.out.charset))
	if len(p.locs) == maxPending {
		return p.flush()
	}
	return nil
}

// flush yields what waits, while the container is open.
func (p *xmlParser) flush() error {
	if p.container == 0 {
		return nil
	}
	_, local := split(p.stack[p.container-1])
	for _, loc := range p.locs {
		if err := p.out.add(loc, Entry{Sitemap: local == "sitemap", LastMod: p.lastMod, Priority: p.priority}); err != nil {
			return err
		}
	}
	p.locs = p.locs[:0]
	return nil
}

// intern spares an allocation for every element; hostile files cannot fill it.
func (p *xmlParser) intern(name []byte) string {
	if s, ok := p.names[string(name)]; ok {
		return s
	}
	s := string(name[:min(len(name), 256)])
	if len(p.names) < 64 {
		p.names[s] = s
	}
	return s
}

func split(name string) (prefix, local string) {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}
