package lazyregexp

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestMethods compares every method with the method of regexp.Regexp of the same name.
func TestMethods(t *testing.T) {
	const pattern, text = `(?P<word>[a-z]+)-(\d+)`, "ab-1 cd-22 ef"
	arguments := map[string][]any{
		"FindAllString":              {text, -1},
		"FindAllStringIndex":         {text, -1},
		"FindAllStringSubmatch":      {text, -1},
		"FindAllStringSubmatchIndex": {text, -1},
		"FindAllSubmatch":            {[]byte(text), -1},
		"FindString":                 {text},
		"FindStringIndex":            {text},
		"FindStringSubmatch":         {text},
		"FindStringSubmatchIndex":    {text},
		"FindSubmatch":               {[]byte(text)},
		"MatchString":                {text},
		"ReplaceAll":                 {[]byte(text), []byte("$2")},
		"ReplaceAllString":           {text, "$2-${word}"},
		"ReplaceAllStringFunc":       {text, strings.ToUpper},
		"Split":                      {text, 2},
		"SubexpNames":                {},
	}
	lazy, compiled := reflect.ValueOf(New(pattern)), reflect.ValueOf(regexp.MustCompile(pattern))
	for i := range lazy.NumMethod() {
		name := lazy.Type().Method(i).Name
		args, ok := arguments[name]
		if !ok {
			t.Errorf("%s: no arguments in this test", name)
			continue
		}
		var in []reflect.Value
		for _, arg := range args {
			in = append(in, reflect.ValueOf(arg))
		}
		got := lazy.Method(i).Call(in)[0].Interface()
		want := compiled.MethodByName(name).Call(in)[0].Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s(%v) = %v, want %v", name, args, got, want)
		}
	}
}

func TestPatternsAreCompiledAtFirstUse(t *testing.T) {
	inTest = false
	defer func() { inTest = true }()
	r := New(`a+`)
	if r.re != nil {
		t.Error("New compiled the pattern")
	}
	var uses sync.WaitGroup
	for range 8 {
		uses.Go(func() {
			if !r.MatchString("caat") {
				t.Error("the pattern does not match")
			}
		})
	}
	uses.Wait()
	if r.re == nil {
		t.Error("the pattern is not kept")
	}
}

func TestInvalidPatternIsFoundInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted an invalid pattern in a test")
		}
	}()
	New(`(`)
}
