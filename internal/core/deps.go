package core

import (
	"fmt"
	"reflect"
)

// RequireDeps panics when a dependency is missing from deps, the Deps struct of a constructor. Every exported field
// that can be nil (interface, pointer, function, map, slice) is required unless its tag is `dep:"optional"`. A service
// that starts without its audit log would drop entries silently; the process must not start instead.
func RequireDeps(deps any) {
	v := reflect.ValueOf(deps)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Tag.Get("dep") != "optional" && isNil(v.Field(i)) {
			panic(fmt.Sprintf("%s.%s is required and missing", v.Type(), field.Name))
		}
	}
}

// isNil also finds a nil pointer inside an interface, which would not compare equal to nil.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.IsNil() || isNil(v.Elem())
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
