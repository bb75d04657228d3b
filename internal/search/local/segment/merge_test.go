package segment

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// split distributes documents over segments and deletes some. It returns the inputs and the survivors.
func split(t *rapid.T, o Options, docs []Document) ([]Input, []Document) {
	t.Helper()
	parts := make([][]Document, rapid.IntRange(1, 5).Draw(t, "segments"))
	deleted := map[string]bool{}
	var survivors []Document
	anyDeleted := rapid.Bool().Draw(t, "with deletions")
	for _, d := range docs {
		i := rapid.IntRange(0, len(parts)-1).Draw(t, "segment")
		parts[i] = append(parts[i], d)
		if anyDeleted && rapid.Bool().Draw(t, "deleted") {
			deleted[d.ID] = true
		} else {
			survivors = append(survivors, d)
		}
	}
	inputs := make([]Input, len(parts))
	for i, part := range parts {
		s := mustOpen(t, build(t, o, part))
		inputs[i] = Input{Segment: s}
		for _, d := range part {
			if !deleted[d.ID] {
				continue
			}
			if inputs[i].Deleted == nil {
				inputs[i].Deleted = NewBits(s.Documents())
			}
			doc, ok, err := s.FindID(d.ID)
			if err != nil || !ok {
				t.Fatalf("find: %v %v", ok, err)
			}
			inputs[i].Deleted.Set(doc)
		}
	}
	return inputs, survivors
}

func TestMergeEqualsBuildingTheSurvivors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SampledFrom([]int{0, 3}).Draw(t, "dims")
		o := Options{Surface: surfaceOf, Model: "m", Dims: dims}
		inputs, survivors := split(t, o, someDocs(dims).Draw(t, "documents"))
		merged := mergeAll(t, inputs)
		checkAgainst(t, mustOpen(t, merged), newModel(survivors))
		sameBytes(t, merged, build(t, o, survivors))
	})
}

func TestMergeOfManyPostingsEqualsBuildingTheSurvivors(t *testing.T) {
	t.Parallel()
	docs := manyPostings(3000, 3)
	for _, keep := range []int{1, 2, 7} { // every keep-th is deleted; 1 deletes all
		var parts [4][]Document
		var survivors []Document
		for i, d := range docs {
			parts[i*4/len(docs)] = append(parts[i*4/len(docs)], d)
			if i%keep != 0 {
				survivors = append(survivors, d)
			}
		}
		var inputs []Input
		for _, part := range parts {
			s := mustOpen(t, build(t, Options{}, part))
			in := Input{Segment: s, Deleted: NewBits(s.Documents())}
			for doc := range uint32(s.Documents()) {
				if s.Seq(doc)%uint64(keep) == 0 {
					in.Deleted.Set(doc)
				}
			}
			inputs = append(inputs, in)
		}
		sameBytes(t, mergeAll(t, inputs), build(t, Options{}, survivors))
	}
}

// Nodes that merge at different times must have the same files.
func TestMergeInStepsEqualsMergeAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inputs, _ := split(t, Options{Surface: surfaceOf, Model: "m", Dims: 3}, someDocs(3).Draw(t, "documents"))
		at := rapid.IntRange(0, len(inputs)).Draw(t, "at")
		left, right := mustOpen(t, mergeAll(t, inputs[:at])), mustOpen(t, mergeAll(t, inputs[at:]))
		sameBytes(t, mergeAll(t, []Input{{Segment: left}, {Segment: right}}), mergeAll(t, inputs))
	})
}

func TestMergeOfNothingIsAnEmptySegment(t *testing.T) {
	t.Parallel()
	sameBytes(t, mergeAll(t, nil), build(t, Options{}, nil))
}

func TestMergeKeepsTheShortestThenSmallestSurface(t *testing.T) {
	t.Parallel()
	segments := make([]*Segment, 0, 5)
	for i, surface := range []string{"", "networks", "networking", "networkd", ""} {
		o := Options{Surface: func(string) string { return surface }}
		doc := Document{ID: strconv.Itoa(i), Seq: uint64(i), Units: []Unit{{Text: []string{"network"}}}}
		segments = append(segments, mustOpen(t, build(t, o, []Document{doc})))
	}
	rapid.Check(t, func(t *rapid.T) {
		var inputs []Input
		for _, s := range rapid.Permutation(segments).Draw(t, "order") {
			inputs = append(inputs, Input{Segment: s})
		}
		s := mustOpen(t, mergeAll(t, inputs))
		if surface, err := s.Surface(0); err != nil || surface != "networkd" {
			t.Fatalf("surface %q %v", surface, err)
		}
	})
}

func TestMergeKeepsVectorsOfTheNewestModel(t *testing.T) {
	t.Parallel()
	one := func(id int, model string, vector ...float32) Input {
		o := Options{Model: model, Dims: len(vector)}
		docs := []Document{{ID: strconv.Itoa(id), Seq: uint64(id), Units: []Unit{{Text: []string{"x"}, Vector: vector}}}}
		return Input{Segment: mustOpen(t, build(t, o, docs))}
	}
	deleted := one(9, "gone", 1, 2)
	deleted.Deleted = NewBits(1)
	deleted.Deleted.Set(0)
	for _, c := range []struct {
		name   string
		inputs []Input
		model  string
		dims   int
		held   []bool
	}{
		{"all agree", []Input{one(1, "a", 1, 2), one(2, "a", 3, 4)}, "a", 2, []bool{true, true}},
		{"the newest wins", []Input{one(1, "a", 1, 2), one(2, "b", 3, 4)}, "b", 2, []bool{false, true}},
		{"dimensions differ", []Input{one(1, "a", 1, 2), one(2, "a", 3)}, "a", 1, []bool{false, true}},
		{"the newest has none", []Input{one(1, "a", 1, 2), one(2, "")}, "a", 2, []bool{true, false}},
		{"the newest's is deleted", []Input{one(1, "a", 1, 2), deleted}, "a", 2, []bool{true}},
		{"nobody has any", []Input{one(1, ""), one(2, "")}, "", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, mergeAll(t, c.inputs))
			model, dims := s.Model()
			v, err := s.Vectors()
			if err != nil || model != c.model || dims != c.dims {
				t.Fatalf("model %q %d %v", model, dims, err)
			}
			var held []bool
			for _, scale := range v.Scales {
				held = append(held, scale != 0)
			}
			if !slices.Equal(held, c.held) {
				t.Fatalf("vectors %v, want %v", held, c.held)
			}
			if err := s.Verify(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestMergeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, build(t, Options{}, manyPostings(5000, 5)))
	inputs := []Input{{Segment: s}}
	full := newMemory()
	if err := Merge(t.Context(), full, "m", inputs); err != nil {
		t.Fatal(err)
	}
	for at := 1; at < full.steps-10; at += 2 { // the rest is the footer
		ctx, cancel := context.WithCancel(t.Context())
		fs := newMemory()
		fs.onStep = func(step int) {
			if step == at {
				cancel()
			}
		}
		err := Merge(ctx, fs, "m", inputs)
		cancel()
		if fs.opened != 0 {
			t.Fatalf("step %d: the file is left open", at)
		}
		if err == nil && at < 3 || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("step %d of %d: %v", at, full.steps, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fs := newMemory()
	if err := Merge(ctx, fs, "m", inputs); !errors.Is(err, context.Canceled) || len(fs.files) > 0 {
		t.Fatalf("a merge that should not have begun: %v, %d files", err, len(fs.files))
	}
}

func TestMergeOfADamagedInputFails(t *testing.T) {
	t.Parallel()
	docs := manyPostings(40, 11)
	for i := range docs {
		docs[i].TitleKey, docs[i].DOIKey = uint64(i%7), uint64(i%5)
		docs[i].Units[0].Vector = []float32{float32(i), 1}
	}
	data := build(t, Options{Surface: surfaceOf, Model: "m", Dims: 2}, docs)
	good := mustOpen(t, data)
	for id := secTermOffsets; id < numSections; id++ {
		if id == secPostingBounds {
			continue // merging creates new ones
		}
		at := offsetOf(good, id)
		bad := slices.Clone(data)
		bad[at]++
		err := Merge(t.Context(), newMemory(), "m", []Input{{Segment: good}, {Segment: mustOpen(t, bad)}})
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%v damaged: %v", id, err)
		}
	}
}

// offsetOf returns the offset of a section in the file.
func offsetOf(s *Segment, id sectionID) int {
	at := uint64(headerSize)
	for i := range id {
		at = align(at + uint64(len(s.sections[i].data)))
	}
	return int(at)
}
