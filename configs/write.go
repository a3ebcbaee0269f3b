package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const inForce = `# The configuration in force. Every key is also a variable (AMBLE_MAX_PAGES), can be set with --set KEY=VALUE, and is a
# flag of amble crawl and amble resume where it says so.
`

// YAML is the configuration in force, as JOB/amble.yaml keeps it: default.yaml with its comments and these values. It
// holds no secret, since passwords are only ever named by their environment variable. Load reads back the same Config.
func (c Config) YAML() []byte {
	_, body, _ := bytes.Cut(DefaultYAML, []byte("\n\n"))
	out := bytes.NewBufferString(inForce + "\n")
	for line := range bytes.Lines(body) {
		key, _, ok := bytes.Cut(line, []byte(":"))
		if !ok || bytes.HasPrefix(line, []byte("#")) {
			out.Write(line)
			continue
		}
		fmt.Fprintf(out, "%s:", key)
		writeValue(out, fieldOf(&c, string(key)))
	}
	return out.Bytes()
}

// writeValue writes what follows the colon of a key, through the line end.
func writeValue(out *bytes.Buffer, field any) {
	switch p := field.(type) {
	case *[]string:
		if len(*p) == 0 {
			out.WriteString(" []\n")
			return
		}
		out.WriteByte('\n')
		for _, v := range *p {
			fmt.Fprintf(out, "  - %s\n", quote(v))
		}
	case *map[string]Host:
		if len(*p) == 0 {
			out.WriteString(" {}\n")
			return
		}
		out.WriteByte('\n')
		for _, name := range slices.Sorted(maps.Keys(*p)) {
			h := (*p)[name]
			fmt.Fprintf(out, "  %s:", quote(name))
			writeHost(out, &h)
		}
	default:
		fmt.Fprintf(out, " %s\n", scalarText(field))
	}
}

func writeHost(out *bytes.Buffer, h *Host) {
	empty := true
	begin := func() {
		if empty {
			out.WriteByte('\n')
		}
		empty = false
	}
	for _, key := range keysOf(h) {
		field := fieldOf(h, key)
		if text := scalarText(field); text != "" && !reflect.ValueOf(field).Elem().IsZero() {
			begin()
			fmt.Fprintf(out, "    %s: %s\n", key, text)
		}
	}
	if h.Traps != nil {
		begin()
		quoted := make([]string, len(h.Traps))
		for i, name := range h.Traps {
			quoted[i] = quote(name)
		}
		fmt.Fprintf(out, "    traps: [%s]\n", strings.Join(quoted, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
		begin()
		fmt.Fprintf(out, "    %s: %s\n", quote(labelPrefix+name), quote(h.Labels[name]))
	}
	if empty {
		out.WriteString(" {}\n")
	}
}

// scalarText is a value as setScalar reads it; "" for what a host does not say.
func scalarText(field any) string {
	switch p := field.(type) {
	case *string:
		return quote(*p)
	case **int:
		return deref(*p)
	case **Duration:
		return deref(*p)
	case **Depth:
		return deref(*p)
	case *map[string]string:
		return ""
	case *bool:
		return fmt.Sprint(*p)
	case *int:
		return fmt.Sprint(*p)
	case *int64:
		return fmt.Sprint(*p)
	case *uint64:
		return fmt.Sprint(*p)
	case fmt.Stringer:
		return p.String()
	}
	return ""
}

func deref[T any](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

// plainWord is text that YAML reads as that text without quotes.
var plainWord = regexp.MustCompile(`^(\$[A-Z_]+|[A-Za-z][A-Za-z0-9._/+@-]*)$`)

// quote writes text for YAML: JSON's strings are its double-quoted ones.
func quote(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if plainWord.MatchString(s) {
			return s
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
