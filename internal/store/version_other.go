//go:build !unix

package store

func openWALIndex(string) *walIndex { return nil }
