package model

// Usage is the number of tokens of an answer, all attempts included.
type Usage struct {
	// In are input tokens, including the Cached ones that the provider read from its prompt cache. Out are output
	// tokens, including reasoning.
	In, Out, Cached int
	// Estimated is set if the provider has not sent all numbers and some were estimated.
	Estimated bool
}

func (u Usage) plus(v Usage) Usage {
	return Usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached, u.Estimated || v.Estimated}
}

// Estimate returns an estimate of the usage from the length of the request and of the answer, on the high side.
func Estimate(r Request, answer string) Usage {
	var out tokenCounter
	out.add(answer)
	return Usage{In: estimateInput(r), Out: out.tokens(), Estimated: true}
}

// messageTokens is the overhead of a message.
const messageTokens = 4

func estimateInput(r Request) int {
	var t tokenCounter
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

// tokenCounter estimates tokens from characters: about four letters a token in English, often one in other scripts.
type tokenCounter struct{ ascii, other int }

func (t *tokenCounter) add(s string) {
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x80:
			t.ascii++
		case b >= 0xC0: // the first byte of a character
			t.other++
		}
	}
}

// tokens counts 3.5 letters as one token, to be on the high side.
func (t *tokenCounter) tokens() int { return (2*t.ascii+6)/7 + t.other }
