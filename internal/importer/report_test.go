package importer

import "testing"

func TestWhatAnEarlierAttemptDidIsCountedAndNotDoneAgain(t *testing.T) {
	t.Parallel()
	w := &listed{todo: []found{{name: "a", size: 1}, {name: "b", size: 2}, {name: "c", size: 4}}, gone: []File{{Name: "d"}, {Name: "e"}}, bytes: 7}
	var told teller
	earlier := map[string]bool{}
	for _, o := range []outcome{{Name: "a", Size: 1}, {Name: "d", Removed: true}, {Name: "z", Size: 8}} {
		earlier[o.Name] = true
		told.report.add(o)
	}
	told.begin(w, earlier)
	told.begin(w, nil) // counts once
	if got := told.report; got.Files.Total != 6 || got.Bytes.Total != 15 {
		t.Errorf("%+v %+v", got.Files, got.Bytes)
	}
	if len(w.todo) != 2 || w.todo[0].name != "b" || len(w.gone) != 1 || w.gone[0].Name != "e" {
		t.Errorf("left: %+v %+v", w.todo, w.gone)
	}
}
