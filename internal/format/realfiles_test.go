package format

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// officeCorpus names a folder of real files in any of the supported formats, such as those of apache/poi, apache/tika
// and jgm/pandoc. The test prints how many are read by format, and the reasons for the others.
const officeCorpus = "CARREL_CORPUS"

func TestRealFilesAreReadOrRefusedWithAReason(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(officeCorpus)
	if dir == "" {
		t.Skip(officeCorpus + " is not set")
	}
	read, all, reasons := map[string]int{}, map[string]int{}, map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !Reads(path) {
			return err
		}
		kind := strings.ToLower(filepath.Ext(path))
		all[kind]++
		library, err := Open(path)
		if err != nil {
			return err
		}
		documents := 0
		for d, err := range library.Documents(t.Context(), nil) {
			if err != nil {
				reasons[kind+" "+err.Error()]++
				continue
			}
			sound(t, d, nil)
			documents++
		}
		if documents > 0 {
			read[kind]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, n := range all {
		t.Logf("%-8s %4d of %4d read", kind, read[kind], n)
	}
	var list []string
	for reason := range reasons {
		list = append(list, reason)
	}
	slices.Sort(list)
	t.Log(strings.Join(list, "\n"))
}
