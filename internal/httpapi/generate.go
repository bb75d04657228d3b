package httpapi

//go:generate go run ./gen
