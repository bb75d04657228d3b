package importer

import "testing"

func TestFilesOfAnEarlierAttemptAreCountedAndSkipped(t *testing.T) {
	t.Parallel()
	w := &syncQueue{
		changed: []localFile{{name: "a", size: 1}, {name: "b", size: 2}, {name: "c", size: 4}},
		missing: []File{{Name: "d"}, {Name: "e"}}, bytes: 7,
	}
	var told reporter
	earlier := map[string]bool{}
	for _, o := range []fileResult{{Name: "a", Size: 1}, {Name: "d", Removed: true}, {Name: "z", Size: 8}} {
		earlier[o.Name] = true
		told.report.add(o)
	}
	told.countWork(w, earlier)
	told.countWork(w, nil) // must not count twice
	if got := told.report; got.Files.Total != 6 || got.Bytes.Total != 15 {
		t.Errorf("%+v %+v", got.Files, got.Bytes)
	}
	if len(w.changed) != 2 || w.changed[0].name != "b" || len(w.missing) != 1 || w.missing[0].Name != "e" {
		t.Errorf("left: %+v %+v", w.changed, w.missing)
	}
}
