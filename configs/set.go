package configs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// labelPrefix begins a key that sets one label: "label.topic".
const labelPrefix = "label."

// Keys lists the keys of Config in the order of its fields.
func Keys() []string { return keysOf(&Config{}) }

// SeedKeyNames lists the keys that a seed line can carry.
func SeedKeyNames() []string {
	return append(slices.DeleteFunc(keysOf(&SeedKeys{}), func(k string) bool { return k == "label" }), labelPrefix+"NAME")
}

// Set gives key the values; a key that is no list takes exactly one. hosts cannot be set here: it has a shape.
func (c *Config) Set(key string, values ...string) error {
	if key == "hosts" {
		return fmt.Errorf("hosts stands in a file only, as hosts: {example.org: {floor: 2s}}")
	}
	return setKey(c, key, values)
}

// Set gives one key of a seed line its value. An error names the key.
func (k *SeedKeys) Set(key, value string) error {
	if name, ok := strings.CutPrefix(key, labelPrefix); ok {
		return k.setLabel(name, value)
	}
	if fieldOf(k, key) == nil || key == "label" {
		return unknown(key, SeedKeyNames())
	}
	if err := setKey(k, key, []string{value}); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (k *SeedKeys) setLabel(name, value string) error {
	if name == "" {
		return fmt.Errorf("a label needs a name: label.NAME=VALUE")
	}
	if k.Labels == nil {
		k.Labels = make(map[string]string)
	}
	k.Labels[name] = value
	return nil
}

// split takes a list apart that stands in one string, as in an environment variable: at white space, which no
// canonical URL, host or regular expression over them contains.
func split(c *Config, key, value string) []string {
	if _, list := fieldOf(c, key).(*[]string); list {
		return strings.Fields(value)
	}
	return []string{value}
}

// setKey parses values into the field of target (a pointer to a struct) whose yaml tag is key.
func setKey(target any, key string, values []string) error {
	field := fieldOf(target, key)
	if field == nil {
		return unknown(key, keysOf(target))
	}
	if list, ok := field.(*[]string); ok {
		// An empty regular expression is found in every URL, and an empty host in none: neither is ever meant.
		if slices.ContainsFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return errors.New("an empty value: write what is meant, or leave it out")
		}
		*list = slices.Clone(values)
		return nil
	}
	if len(values) != 1 {
		return fmt.Errorf("takes one value, not %d", len(values))
	}
	return setScalar(field, values[0])
}

func unknown(key string, known []string) error {
	if near := Nearest(key, known); near != "" {
		return fmt.Errorf("unknown key %q (did you mean %q?)", key, near)
	}
	return fmt.Errorf("unknown key %q (known are: %s)", key, strings.Join(known, ", "))
}

func setScalar(field any, s string) (err error) {
	switch p := field.(type) {
	case *string:
		*p = strings.TrimSpace(s)
	case *bool:
		*p, err = parseBool(s)
	case *int:
		*p, err = parseInt[int](s)
	case *int64:
		*p, err = parseInt[int64](s)
	case *uint64:
		if *p, err = strconv.ParseUint(strings.TrimSpace(s), 10, 64); err != nil {
			err = fmt.Errorf("%q is no whole number from 0", s)
		}
	case *Duration:
		*p, err = ParseDuration(s)
	case *Size:
		*p, err = ParseSize(s)
	case *Rate:
		*p, err = ParseRate(s)
	case *Depth:
		*p, err = ParseDepth(s)
	case **int:
		*p, err = pointer(parseInt[int](s))
	case **Duration:
		*p, err = pointer(ParseDuration(s))
	case **Depth:
		*p, err = pointer(ParseDepth(s))
	default:
		err = fmt.Errorf("takes a mapping, not one value")
	}
	return err
}

func pointer[T any](v T, err error) (*T, error) { return &v, err }

func parseBool(s string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

// parseInt also takes the thousands apart that people write with underscores: 10_000.
func parseInt[T int | int64](s string) (T, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(s), "_", ""), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	return T(n), nil
}

// keysOf lists the yaml keys of a struct, those of embedded structs included.
func keysOf(target any) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(target).Elem()) {
		if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// fieldOf is a pointer to the field with that key, nil when there is none.
func fieldOf(target any, key string) any {
	v := reflect.ValueOf(target).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name == key && key != "" {
			return v.FieldByIndex(f.Index).Addr().Interface()
		}
	}
	return nil
}
