package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Decode reads one JSON value into v, a pointer, as the API reads everything
// from outside: member names match exactly (case included), a name appears
// once in its object, names that the type does not have are refused, nothing
// follows the value. Numbers, strings and so on are read as encoding/json does.
func Decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := checkValue(dec, reflect.TypeOf(v), "$"); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("$: something follows the value")
	}
	return json.Unmarshal(data, v)
}

// checkValue walks one value beside the type it will be read into; t is nil
// where anything goes.
func checkValue(dec *json.Decoder, t reflect.Type, path string) error {
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	t = container(t)
	switch delim {
	case '{':
		return checkObject(dec, t, path)
	case '[':
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for i := 0; dec.More(); i++ {
			if err := checkValue(dec, elem, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	}
	return nil
}

func checkObject(dec *json.Decoder, t reflect.Type, path string) error {
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, _ := tok.(string)
		at := path + "." + name
		if seen[name] {
			return fmt.Errorf("%s appears twice", at)
		}
		seen[name] = true
		var member reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Map:
			member = t.Elem()
		case t.Kind() == reflect.Struct:
			if member, err = field(t, name); err != nil {
				return fmt.Errorf("%s %w", at, err)
			}
		}
		if err := checkValue(dec, member, at); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// container is the type whose members are checked: pointers are followed, and
// a type that reads itself is not looked into.
func container(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		if t.Implements(unmarshaler) {
			return nil
		}
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	return t
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// field is the type of the member with exactly this JSON name.
func field(t reflect.Type, name string) (reflect.Type, error) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "":
			if in := container(f.Type); in != nil && in.Kind() == reflect.Struct {
				if m, err := field(in, name); err == nil {
					return m, nil
				}
			}
		case tag == name, tag == "" && f.Name == name:
			return f.Type, nil
		}
	}
	return nil, fmt.Errorf("is not known")
}
