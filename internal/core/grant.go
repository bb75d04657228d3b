package core

// Grant is a user's level of access to an agent. Each level includes the lower ones.
type Grant uint8

// The grants. A viewer may see the agent, search it and read its documents. A user may also chat with it, and has their
// own threads, memories and favourites. A manager may also change the agent and its sources. The owner may also delete
// and share it.
const (
	GrantNone Grant = iota
	GrantViewer
	GrantUser
	GrantManager
	GrantOwner
)

var grantWords = [...]string{GrantViewer: "viewer", GrantUser: "user", GrantManager: "manager", GrantOwner: "owner"}

// String returns the name of the grant, "" for GrantNone.
func (g Grant) String() string {
	if int(g) >= len(grantWords) {
		return ""
	}
	return grantWords[g]
}

// GrantOf returns the grant of this name, and whether it can be given to another user.
func GrantOf(word string) (Grant, bool) {
	for g := GrantViewer; g < GrantOwner; g++ {
		if grantWords[g] == word {
			return g, true
		}
	}
	return GrantNone, false
}

// AllowAgent decides whether the actor, who has the grant g, may carry out an operation on an agent. It checks in this
// order: credential and plan (403), whether the user and the credential have access to the agent at all (404), whether
// the grant is sufficient (403), payment (402). Without a grant the agent does not exist for the user. With an
// insufficient one the error is 403, because the user can see the agent anyway.
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
		return Forbidden("forbidden",
			"Your grant for this agent does not allow this. Ask its owner for the grant "+need.String()+".")
	}
	return a.pay(op)
}

// CapabilitiesOn lists what the actor may currently do with an agent for which they have this grant.
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
