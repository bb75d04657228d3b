package model

// Usage is what an answer took, all tries together.
type Usage struct {
	// In are the tokens that were read, Cached those of them that the provider had kept from before; Out are those
	// that were written, thoughts included.
	In, Out, Cached int
	// Estimated says that the provider did not tell all of it, and some was counted by length.
	Estimated bool
}

// plus adds what another try took.
func (u Usage) plus(v Usage) Usage {
	return Usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached, u.Estimated || v.Estimated}
}

// Estimate counts what an answer takes by the lengths of the request and of what was said. It rather counts too much.
func Estimate(r Request, said string) Usage {
	var out tally
	out.add(said)
	return Usage{In: estimateIn(r), Out: out.tokens(), Estimated: true}
}

// messageTokens is what the frame of a message takes, beside its text.
const messageTokens = 4

func estimateIn(r Request) int {
	var t tally
	t.add(r.System)
	for _, m := range r.Messages {
		t.add(m.Text)
		for _, call := range m.Calls {
			t.add(call.Name)
			t.add(string(call.Arguments))
		}
	}
	for _, tool := range r.Tools {
		t.add(tool.Name)
		t.add(tool.Description)
		t.add(string(tool.Schema))
	}
	if r.Schema != nil {
		t.add(string(r.Schema.JSON))
	}
	return t.tokens() + messageTokens*(1+len(r.Messages)+len(r.Tools))
}

// tally counts letters: a token is some four of them in English, and often a single one in other scripts.
type tally struct{ ascii, other int }

func (t *tally) add(s string) {
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x80:
			t.ascii++
		case b >= 0xC0: // the first byte of a character
			t.other++
		}
	}
}

// tokens takes 3.5 letters for one, which is on the safe side.
func (t *tally) tokens() int { return (2*t.ascii+6)/7 + t.other }
