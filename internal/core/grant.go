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

// AllowAgent is the whole decision for an operation on an agent, in the order in which refusals are answered: what the
// credential and the plan permit (403), whether the credential may touch the agent and the user knows of it (404),
// whether the user's grant is enough (403), and whether the account can pay (402). Without a grant the agent does not
// exist for the user; with too little of one the answer is 403, because the user sees the agent anyway.
func (a Actor) AllowAgent(op Operation, agentID string, g Grant) error {
	if err := a.permit(op); err != nil {
		return err
	}
	r, _ := op.Rule()
	need := r.Access.Grant()
	switch {
	case g == GrantNone || need == GrantNone || !a.Touches(agentID):
		return NotFound("agent")
	case g < need:
		return Forbidden("forbidden", "The owner of this agent has not shared it with you for this. Ask them for the grant "+need.String()+".")
	}
	return a.pay(op)
}

// CapabilitiesOn lists what the actor may do now with an agent that they have this grant for.
func (a Actor) CapabilitiesOn(g Grant) []Capability {
	out := make([]Capability, 0, len(capabilities))
	for _, c := range capabilities {
		op := capabilityOps[c]
		if r, _ := op.Rule(); g >= r.Access.Grant() && a.Allow(op) == nil {
			out = append(out, c)
		}
	}
	return out
}
