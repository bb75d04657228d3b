package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// keptMemory is the size up to which a statement keeps the memory of its parameters for its next run.
const keptMemory = 16 << 10

// statement is a prepared statement.
type statement struct {
	ptr     uintptr
	columns int
	// params are the indexes of the arguments by place. For SQLite, $1 is a name, and places are numbered by first use.
	params          []int
	readOnly        bool
	cached, running bool
	tables          Tables // see Watch
	// memory holds the texts and blobs of the parameters, so that SQLite need not copy them.
	memory uintptr
	size   int
}

// bind sets all parameters of a statement.
func (c *Conn) bind(s *statement, args []any) error {
	args, size, err := converted(args)
	if err != nil {
		return err
	}
	if err := c.reserve(s, size); err != nil {
		return err
	}
	used := 0
	for place, i := range s.params {
		if i >= len(args) {
			return fmt.Errorf("sqlite: parameter $%d is missing", i+1)
		}
		n, err := c.bindOne(s, int32(place+1), args[i], used)
		if err != nil {
			return fmt.Errorf("sqlite: parameter $%d: %w", i+1, err)
		}
		used += n
	}
	return nil
}

// converted returns the arguments as the types of bindOne, and the size of their texts and blobs.
func converted(args []any) (_ []any, size int, err error) {
	own := false
	for i, a := range args {
		switch a.(type) {
		case string, []byte, int, int64, float64, bool, nil:
		default: // a type with one of these underlying types, a pointer to one, or a driver.Valuer
			if a, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return nil, 0, fmt.Errorf("sqlite: parameter $%d: %w", i+1, err)
			}
			if !own {
				args, own = slices.Clone(args), true
			}
			args[i] = a
		}
		switch v := a.(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		}
	}
	return args, size, nil
}

// reserve makes sure that the memory of a statement has a size. The statement is not running, so it may be replaced.
func (c *Conn) reserve(s *statement, size int) error {
	if s.memory != 0 && size <= s.size {
		return nil
	}
	size = max(size, 256)
	libc.Xfree(c.tls, s.memory)
	s.memory, s.size = libc.Xmalloc(c.tls, types.Size_t(size)), size
	if s.memory == 0 {
		s.size = 0
		return errMemory
	}
	return nil
}

// bindOne sets one parameter, with its bytes at an offset of the statement's memory, and returns their number.
func (c *Conn) bindOne(s *statement, place int32, value any, offset int) (int, error) {
	at := s.memory + uintptr(offset)
	var code int32
	n := 0
	switch v := value.(type) {
	case string:
		if n = len(v); n > 0 {
			copy(bytesAt(at, n), v)
		}
		code = lib.Xsqlite3_bind_text(c.tls, s.ptr, place, at, int32(n), lib.SQLITE_STATIC)
	case int:
		code = lib.Xsqlite3_bind_int64(c.tls, s.ptr, place, int64(v))
	case int64:
		code = lib.Xsqlite3_bind_int64(c.tls, s.ptr, place, v)
	case nil:
		code = lib.Xsqlite3_bind_null(c.tls, s.ptr, place)
	case []byte:
		if v == nil {
			code = lib.Xsqlite3_bind_null(c.tls, s.ptr, place)
			break
		}
		if n = len(v); n > 0 {
			copy(bytesAt(at, n), v)
		}
		code = lib.Xsqlite3_bind_blob(c.tls, s.ptr, place, at, int32(n), lib.SQLITE_STATIC)
	case float64:
		code = lib.Xsqlite3_bind_double(c.tls, s.ptr, place, v)
	case bool:
		number := int64(0)
		if v {
			number = 1
		}
		code = lib.Xsqlite3_bind_int64(c.tls, s.ptr, place, number)
	default:
		return 0, fmt.Errorf("a value of type %T", value)
	}
	if code != lib.SQLITE_OK {
		return 0, c.failure(code)
	}
	return n, nil
}

// errNull is returned for a NULL whose destination can't represent it.
var errNull = errors.New("NULL")

// column stores a column of the current row.
func (s *statement) column(tls *libc.TLS, i int, dest any) error {
	kind := lib.Xsqlite3_column_type(tls, s.ptr, int32(i))
	switch d := dest.(type) {
	case *string:
		if kind == lib.SQLITE_NULL {
			return errNull
		}
		*d = s.text(tls, i, *d)
	case *int64:
		if kind != lib.SQLITE_INTEGER {
			return notA("an integer", kind)
		}
		*d = lib.Xsqlite3_column_int64(tls, s.ptr, int32(i))
	case *int:
		if kind != lib.SQLITE_INTEGER {
			return notA("an integer", kind)
		}
		*d = int(lib.Xsqlite3_column_int64(tls, s.ptr, int32(i)))
	case *bool:
		if kind != lib.SQLITE_INTEGER {
			return notA("an integer", kind)
		}
		*d = lib.Xsqlite3_column_int64(tls, s.ptr, int32(i)) != 0
	case *float64:
		if kind != lib.SQLITE_FLOAT && kind != lib.SQLITE_INTEGER {
			return notA("a number", kind)
		}
		*d = lib.Xsqlite3_column_double(tls, s.ptr, int32(i))
	case *[]byte:
		*d = s.blob(tls, i, kind)
	case *sql.NullInt64:
		if kind != lib.SQLITE_INTEGER && kind != lib.SQLITE_NULL {
			return notA("an integer", kind)
		}
		d.Valid = kind != lib.SQLITE_NULL
		d.Int64 = lib.Xsqlite3_column_int64(tls, s.ptr, int32(i)) // 0 for NULL
	case *sql.NullString:
		d.Valid = kind != lib.SQLITE_NULL
		d.String = s.text(tls, i, d.String)
	case sql.Scanner:
		return d.Scan(s.value(tls, i, kind))
	default:
		return s.convert(tls, i, kind, dest)
	}
	return nil
}

// convert stores a column in a variable of a type that has the underlying type of another destination.
func (s *statement) convert(tls *libc.TLS, i int, kind int32, dest any) error {
	d := reflect.ValueOf(dest)
	if d.Kind() != reflect.Pointer || d.IsNil() {
		return fmt.Errorf("a destination of type %T", dest)
	}
	d = d.Elem()
	switch {
	case d.Kind() == reflect.String && kind != lib.SQLITE_NULL:
		d.SetString(s.text(tls, i, d.String()))
	case d.CanInt() && kind == lib.SQLITE_INTEGER:
		n := lib.Xsqlite3_column_int64(tls, s.ptr, int32(i))
		if d.OverflowInt(n) {
			return fmt.Errorf("%d does not fit into %T", n, dest)
		}
		d.SetInt(n)
	case d.Kind() == reflect.Bool && kind == lib.SQLITE_INTEGER:
		d.SetBool(lib.Xsqlite3_column_int64(tls, s.ptr, int32(i)) != 0)
	case d.Kind() == reflect.Slice && d.Type().Elem().Kind() == reflect.Uint8:
		d.SetBytes(s.blob(tls, i, kind))
	default:
		return fmt.Errorf("%T for a value of kind %d", dest, kind)
	}
	return nil
}

// notA returns the error of a value of another kind.
func notA(want string, kind int32) error {
	if kind == lib.SQLITE_NULL {
		return errNull
	}
	return fmt.Errorf("a value of kind %d instead of %s", kind, want)
}

// text returns a column as text; NULL is an empty text. A text equal to last, that of the row before, is not copied.
func (s *statement) text(tls *libc.TLS, i int, last string) string {
	at := lib.Xsqlite3_column_text(tls, s.ptr, int32(i))
	n := int(lib.Xsqlite3_column_bytes(tls, s.ptr, int32(i)))
	if at == 0 || n == 0 {
		return ""
	}
	text := bytesAt(at, n)
	if string(text) == last {
		return last
	}
	return string(text)
}

// blob returns a copy of a column's bytes; NULL is nil.
func (s *statement) blob(tls *libc.TLS, i int, kind int32) []byte {
	if kind == lib.SQLITE_NULL {
		return nil
	}
	at := lib.Xsqlite3_column_blob(tls, s.ptr, int32(i))
	n := int(lib.Xsqlite3_column_bytes(tls, s.ptr, int32(i)))
	out := make([]byte, n)
	if at != 0 && n > 0 {
		copy(out, bytesAt(at, n))
	}
	return out
}

// value returns a column for a sql.Scanner.
func (s *statement) value(tls *libc.TLS, i int, kind int32) driver.Value {
	switch kind {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_column_int64(tls, s.ptr, int32(i))
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_column_double(tls, s.ptr, int32(i))
	case lib.SQLITE_TEXT:
		return s.text(tls, i, "")
	case lib.SQLITE_BLOB:
		return s.blob(tls, i, kind)
	}
	return nil
}
