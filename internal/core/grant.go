package core

// Grant is what somebody may do with an agent: it is theirs, it is shared with them or everybody, or it is not. Each
// includes the ones before it.
type Grant uint8

// The grants. A viewer sees the agent, searches it and reads its documents. A user also talks to it, with threads,
// memories and favourites of their own. A manager also changes it and its sources. The owner also deletes and shares it.
const (
	GrantNone Grant = iota
	GrantViewer
	GrantUser
	GrantManager
	GrantOwner
)

var grantWords = [...]string{GrantViewer: "viewer", GrantUser: "user", GrantManager: "manager", GrantOwner: "owner"}

// String is the word for it; GrantNone has none.
func (g Grant) String() string {
	if int(g) >= len(grantWords) {
		return ""
	}
	return grantWords[g]
}

// GrantOf returns the grant of a word, and whether it is one that can be given.
func GrantOf(word string) (Grant, bool) {
	for g := GrantViewer; g < GrantOwner; g++ {
		if grantWords[g] == word {
			return g, true
		}
	}
	return GrantNone, false
}

// AllowAgent is the whole decision for an operation on an agent: first what the actor may do at all, then whether the
// credential touches the agent, then what the agent's owner lets the user do. Without a grant there is no such agent;
// with too little of one it is forbidden, for the user sees the agent anyway.
func (a Actor) AllowAgent(op Operation, agentID string, g Grant) error {
	if err := a.AllowOn(op, agentID); err != nil {
		return err
	}
	switch {
	case g == GrantNone:
		return NotFound("agent")
	case g < rules[op].grant:
		return Forbidden("forbidden", "The owner of this agent has not shared it with you for this. Ask them for the grant "+rules[op].grant.String()+".")
	}
	return nil
}

// CapabilitiesOn lists what the actor may do now with an agent that they have this grant for.
func (a Actor) CapabilitiesOn(g Grant) []Capability {
	out := make([]Capability, 0, len(capabilities))
	for _, c := range capabilities {
		op := capabilityOps[c]
		if g >= rules[op].grant && a.Allow(op) == nil {
			out = append(out, c)
		}
	}
	return out
}
