package testkit

import (
	"fmt"
	"reflect"
	"testing"
)

// RequiresDeps checks that construct accepts the complete deps, and panics if one of the required fields is missing. A
// field is required if it can be nil and is not tagged `dep:"optional"`.
func RequiresDeps[D any](t testing.TB, complete D, construct func(D)) {
	t.Helper()
	if message := panicOf(func() { construct(complete) }); message != "" {
		t.Errorf("complete dependencies are refused: %s", message)
		return
	}
	v := reflect.ValueOf(complete)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch field.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		default:
			continue
		}
		if field.Tag.Get("dep") == "optional" {
			continue
		}
		deps := complete
		reflect.ValueOf(&deps).Elem().Field(i).SetZero()
		want := fmt.Sprintf("%s.%s is required and missing", v.Type(), field.Name)
		if message := panicOf(func() { construct(deps) }); message != want {
			t.Errorf("without %s: panic %q, want %q", field.Name, message, want)
		}
	}
}

// panicOf returns the message f panics with, or "".
func panicOf(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
