package testkit

// Panics reports whether f panics.
func Panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}
