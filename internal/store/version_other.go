//go:build !unix

package store

func openChanges(string) *changes { return nil }
