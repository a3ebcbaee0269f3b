package export

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"amble/fetcher/body"
	"amble/fetcher/charset"
	"amble/storage"
)

// jsonlFormat writes an object a line.
type jsonlFormat struct {
	out   *output
	opt   *Options
	stats *Stats
	line  bytes.Buffer
	doc   []byte
}

func (j *jsonlFormat) capture(r *storage.Reader, e *storage.Entry) (bool, error) {
	rec, err := r.Record(e)
	if err != nil {
		return false, err
	}
	defer func() { _ = rec.Payload.Close() }() // only read
	row := &row{entry: e, rec: rec}
	j.line.Reset()
	for i := range columns {
		c := &columns[i]
		j.key(c.name)
		if c.number != nil {
			j.line.Write(strconv.AppendInt(j.line.AvailableBuffer(), c.number(row), 10))
		} else if err := j.string(c.text(row)); err != nil {
			return false, err
		}
	}
	if j.opt.Body {
		if err := j.body(e, rec); err != nil {
			return false, err
		}
	}
	if err := verify(e, rec); err != nil {
		return false, err
	}
	j.line.WriteString("}\n")
	if err := j.out.begin(int64(j.line.Len())); err != nil {
		return false, err
	}
	_, err = j.out.Write(j.line.Bytes())
	return true, err
}

func (j *jsonlFormat) key(name string) {
	sep := byte(',')
	if j.line.Len() == 0 {
		sep = '{'
	}
	j.line.WriteByte(sep)
	j.line.WriteByte('"')
	j.line.WriteString(name)
	j.line.WriteString(`":`)
}

func (j *jsonlFormat) string(s string) error {
	enc := json.NewEncoder(&j.line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	j.line.Truncate(j.line.Len() - 1) // the line end that Encode adds
	return nil
}

// body writes the decoded body: as text in UTF-8 in "body", anything else in "body_base64".
func (j *jsonlFormat) body(e *storage.Entry, rec *storage.Record) error {
	var text, coded string
	if !j.opt.IncludeNoindex && withheld(rec) {
		if err := verify(e, rec); err != nil {
			return err
		}
		j.stats.Withheld++
	} else {
		doc, err := j.decode(rec)
		if err != nil {
			return damage(e, err)
		}
		if isText(rec.Meta.MediaType, doc) {
			name := rec.Meta.Charset
			if name == "" {
				name, _ = charset.Detect(doc, strings.Join(rec.Field("Content-Type"), ", "))
			}
			text = string(charset.ToUTF8(doc, name))
		} else {
			coded = base64.StdEncoding.EncodeToString(doc)
		}
	}
	j.key("body")
	if err := j.string(text); err != nil {
		return err
	}
	j.key("body_base64")
	return j.string(coded)
}

// decode gives as much of the body as the crawl decoded. What cannot be decoded ends where its coding breaks.
func (j *jsonlFormat) decode(rec *storage.Record) ([]byte, error) {
	limit := rec.Meta.Bytes
	if !rec.Meta.HasContent {
		limit = 32 << 20
	}
	src := &sourceError{r: rec.Payload}
	// The size was bounded when the body was fetched; its ratio does not matter any more.
	doc, _ := body.ReadAll(j.doc[:0], src, rec.Field("Content-Encoding"), body.Limits{MaxBytes: limit, MaxRatio: 1 << 30})
	j.doc = doc
	return doc, src.err
}

func (j *jsonlFormat) finish(context.Context) error { return nil }

func (j *jsonlFormat) close() {}

// isText tells whether a body is exported as text.
func isText(mime string, doc []byte) bool {
	if mime == "" {
		return charset.IsHTML("", doc)
	}
	kind, name, _ := strings.Cut(mime, "/")
	switch {
	case kind == "text", strings.HasSuffix(name, "+xml"), strings.HasSuffix(name, "+json"):
		return true
	case kind == "application":
		switch name {
		case "json", "xml", "javascript", "ecmascript", "x-javascript", "ld+json", "yaml", "x-yaml", "toml", "x-sh", "sql":
			return true
		}
	}
	return false
}

// withheld tells whether a page asks for its text not to be passed on, in its robots meta or in X-Robots-Tag. A rule for
// one named robot counts for all.
func withheld(rec *storage.Record) bool {
	said := rec.Meta.RobotsMeta + "," + strings.Join(rec.Field("X-Robots-Tag"), ",")
	for word := range strings.FieldsFuncSeq(strings.ToLower(said), func(r rune) bool { return r == ',' || r == ' ' || r == ':' || r == ';' }) {
		switch word {
		case "noindex", "noarchive", "none":
			return true
		}
	}
	return false
}

// sourceError keeps the error of reading, apart from those of decoding.
type sourceError struct {
	r   io.Reader
	err error
}

func (s *sourceError) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// csvFormat writes the same columns by RFC 4180.
type csvFormat struct {
	out   *output
	buf   bytes.Buffer
	w     *csv.Writer
	cells []string
}

func (c *csvFormat) capture(r *storage.Reader, e *storage.Entry) (bool, error) {
	rec, err := r.Record(e)
	if err != nil {
		return false, err
	}
	defer func() { _ = rec.Payload.Close() }() // only read
	if err := verify(e, rec); err != nil {
		return false, err
	}
	row := &row{entry: e, rec: rec}
	if err := c.line(func(col *column) string {
		if col.number != nil {
			return strconv.FormatInt(col.number(row), 10)
		}
		return inert(col.text(row))
	}); err != nil {
		return false, err
	}
	line := bytes.Clone(c.buf.Bytes())
	c.out.header = c.header
	if err := c.out.begin(int64(len(line))); err != nil {
		return false, err
	}
	_, err = c.out.Write(line)
	return true, err
}

func (c *csvFormat) header() error {
	if err := c.line(func(col *column) string { return col.name }); err != nil {
		return err
	}
	_, err := c.out.Write(c.buf.Bytes())
	return err
}

// line puts a line together in buf.
func (c *csvFormat) line(cell func(*column) string) error {
	if c.w == nil {
		c.w = csv.NewWriter(&c.buf)
		c.w.UseCRLF = true
	}
	c.buf.Reset()
	c.cells = c.cells[:0]
	for i := range columns {
		c.cells = append(c.cells, cell(&columns[i]))
	}
	if err := c.w.Write(c.cells); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// inert keeps a spreadsheet from taking text for a formula.
func inert(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func (c *csvFormat) finish(context.Context) error {
	c.out.header = c.header
	return nil
}

func (c *csvFormat) close() {}
