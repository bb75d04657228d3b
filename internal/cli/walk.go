package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"carrel/internal/format"
)

// foundFile is a file on this machine that is imported, or that is reported because it can't be.
type foundFile struct {
	// name is the path in the source, with slashes. The name of a folder ends with a slash.
	name, path string
	size       int64
	// version changes when the file changes.
	version string
	// refused is the reason why the file can't be imported, or empty.
	refused string
}

// Reasons why a file is not sent.
const (
	reasonNotOpened = "It can't be opened. Check its permissions."
	reasonLink      = "Symbolic links are not followed."
	reasonNotAFile  = "It is not a regular file."
	reasonFormat    = "This file format is not supported."
	reasonSameName  = "Another file of this import has the same name."
)

// hides reports whether f is a folder that can't be listed and may contain the file with this name.
func (f foundFile) hides(name string) bool {
	return strings.HasSuffix(f.name, "/") && strings.HasPrefix(name, f.name)
}

// walkFolder lists the files below a folder, without hidden ones. Files and subfolders that can't be read are listed
// with the reason.
func walkFolder(dir string) ([]foundFile, error) {
	var found []foundFile
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if path == dir {
			return err
		}
		name, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			return relErr
		}
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			found = append(found, foundFile{name: name + "/", path: path, version: "unreadable", refused: reasonNotOpened})
			return nil //nolint:nilerr // the folder is reported, and the others are listed
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		info, err := entry.Info()
		if err == nil { // otherwise it was deleted since the listing began
			found = append(found, describeFile(name, path, info))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	return found, nil
}

// describeFile returns a file, with the reason if its kind or its format can't be imported.
func describeFile(name, path string, info fs.FileInfo) foundFile {
	f := foundFile{
		name: name, path: path, size: info.Size(), version: fmt.Sprint(info.Size(), info.ModTime().UnixNano()),
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		f.refused = reasonLink
	case !info.Mode().IsRegular():
		f.refused = reasonNotAFile
	case !format.Reads(name):
		f.refused = reasonFormat
	}
	return f
}

// findFiles lists the files of an import: files by their base names, and the files of folders by their paths in the
// folder. A name that occurs twice is refused the second time.
func findFiles(paths []string) ([]foundFile, error) {
	var found []foundFile
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir():
			found = append(found, describeFile(filepath.Base(path), path, info))
			continue
		}
		inside, err := walkFolder(path)
		if err != nil {
			return nil, err
		}
		found = append(found, inside...)
	}
	seen := map[string]bool{}
	for i, f := range found {
		if seen[f.name] && f.refused == "" {
			found[i].refused = reasonSameName
		}
		seen[f.name] = true
	}
	return found, nil
}

// printableName quotes a name with control characters, which could drive a terminal.
func printableName(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return name
	}
	return strconv.QuoteToGraphic(name)
}
