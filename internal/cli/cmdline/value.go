package cmdline

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is the kind of a value, as messages name it.
type kind string

const (
	kindBool     kind = "bool"
	kindInt      kind = "int"
	kindString   kind = "string"
	kindDuration kind = "duration"
	kindTime     kind = "time"
)

// kindOf returns the kind of a field. It panics if the package does not support its type.
func kindOf(t reflect.Type) kind {
	element := t
	if t.Kind() == reflect.Pointer {
		element = t.Elem()
	}
	switch element {
	case reflect.TypeFor[bool]():
		return kindBool
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return kindInt
	case reflect.TypeFor[string]():
		return kindString
	case reflect.TypeFor[time.Duration]():
		return kindDuration
	case reflect.TypeFor[time.Time]():
		return kindTime
	}
	if t == reflect.TypeFor[[]string]() {
		return kindString
	}
	panic("cmdline: unsupported type " + t.String())
}

// set parses text and stores it in the field. A slice is extended.
func (v *Value) set(text string) error {
	target := v.field
	switch target.Kind() {
	case reflect.Slice:
		target.Set(reflect.Append(target, reflect.ValueOf(text)))
		return nil
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	if err := v.parse(text, target); err != nil {
		return fmt.Errorf("%s: %w", v.label, err)
	}
	return nil
}

func (v *Value) parse(text string, target reflect.Value) error {
	switch v.kind {
	case kindBool:
		return parseBool(text, target)
	case kindInt:
		n, err := strconv.ParseInt(text, 0, target.Type().Bits())
		if err != nil {
			return fmt.Errorf("expected a valid %d bit int but got %q", target.Type().Bits(), text)
		}
		target.SetInt(n)
	case kindDuration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("expected duration but got %q: %w", text, err)
		}
		target.SetInt(int64(d))
	case kindTime:
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return err
		}
		target.Set(reflect.ValueOf(t))
	case kindString:
		path, err := v.resolve(text)
		if err != nil {
			return err
		}
		target.SetString(path)
	}
	return nil
}

func parseBool(text string, target reflect.Value) error {
	text = strings.ToLower(text)
	switch text {
	case "true", "1", "yes":
		target.SetBool(true)
	case "false", "0", "no":
		target.SetBool(false)
	default:
		return fmt.Errorf("bool value must be true, 1, yes, false, 0 or no but got %q", text)
	}
	return nil
}

// resolve makes a value with the type tag an absolute path. "-" is the standard input or output.
func (v *Value) resolve(text string) (string, error) {
	if v.Type == "" || v.Type == "path" && text == "-" {
		return text, nil
	}
	path, err := absolute(text)
	if err != nil || v.Type != "existingdir" {
		return path, err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q exists but is not a directory", path)
	}
	return path, err
}

// absolute returns the absolute form of a path. ~/ is the home folder, also where a shell does not expand it, as in
// --output=~/file.
func absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(path)
}

// checkEnum returns an error if the field has a value that is not permitted.
func (v *Value) checkEnum() error {
	if v.Enum == nil {
		return nil
	}
	var values []string
	switch field := v.field.Interface().(type) {
	case string:
		values = []string{field}
	case []string:
		values = field
	case *string:
		if field != nil {
			values = []string{*field}
		}
	default:
		panic("cmdline: " + v.label + " has an enum but is no string")
	}
	for _, value := range values {
		if !slices.Contains(v.Enum, value) {
			quoted := make([]string, len(v.Enum))
			for i, permitted := range v.Enum {
				quoted[i] = strconv.Quote(permitted)
			}
			return fmt.Errorf("%s must be one of %s but got %q", v.label, strings.Join(quoted, ","), value)
		}
	}
	return nil
}

// split splits the value of a slice flag at commas. A backslash before a comma makes it part of a value.
func split(text string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == ',':
			i++
			part.WriteByte(',')
		case text[i] == ',':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	if part.Len() > 0 {
		parts = append(parts, part.String())
	}
	return parts
}
