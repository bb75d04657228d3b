package core

import (
	"slices"
	"testing"
)

// permissions is what each operation on an agent needs, written down a second time: the least grant, the capability of
// the plan, and the scope of the credential.
var permissions = map[Operation]struct {
	grant      Grant
	capability Capability
	scope      Scope
	metered    bool
}{
	OpReadAgents:      {GrantViewer, "", ScopeAgents, false},
	OpReadDocuments:   {GrantViewer, "", ScopeAgents, false},
	OpReadThreads:     {GrantViewer, "", ScopeAgents, false},
	OpReadMemories:    {GrantViewer, "", ScopeAgents, false},
	OpReadFavourites:  {GrantViewer, "", ScopeAgents, false},
	OpSearch:          {GrantViewer, CapSearch, ScopeAgents, true},
	OpWriteThreads:    {GrantUser, CapChat, ScopeAgents, false},
	OpSendMessage:     {GrantUser, CapChat, ScopeAgents, true},
	OpResearch:        {GrantUser, CapResearch, ScopeAgents, true},
	OpWriteMemories:   {GrantUser, CapMemories, ScopeAgents, false},
	OpWriteFavourites: {GrantUser, CapFavourites, ScopeAgents, false},
	OpManageAgents:    {GrantManager, CapManage, ScopeManage, false},
	OpOwnAgents:       {GrantOwner, CapManage, ScopeManage, false},
}

// TestPermissions is the whole table: role, grant, kind of credential, scopes, capability and operation. A role gives
// nothing with an agent of somebody else: whoever runs the installation does not read what is its users'.
func TestPermissions(t *testing.T) {
	t.Parallel()
	cells := 0
	for op, needs := range permissions {
		for _, role := range []Role{RoleOwner, RoleAdmin, RoleMember} {
			for _, kind := range []CredentialKind{CredentialKey, CredentialMinted, CredentialOAuth, CredentialSession, CredentialOperator, "badge"} {
				for grant := GrantNone; grant <= GrantOwner; grant++ {
					for _, lacking := range append(AllCapabilities(), "") {
						for _, scopes := range [][]Scope{nil, {ScopeAgents}, {ScopeManage}, {ScopeAgents, ScopeManage}} {
							for _, plan := range []string{PlanOpen, PlanNone} {
								a := Actor{UserID: "u", Role: role, Plan: plan, Credential: kind, Scopes: scopes, Lacks: SetOf(lacking)}
								want := ""
								switch {
								case kind == "badge" || !slices.Contains(scopes, needs.scope):
									want = "insufficient_scope"
								case needs.capability != "" && needs.capability == lacking:
									want = "capability_disabled"
								case needs.metered && plan == PlanNone:
									want = "no_subscription"
								case grant == GrantNone:
									want = "not_found"
								case grant < needs.grant:
									want = "forbidden"
								}
								got := ""
								if err := a.AllowAgent(op, "agt", grant); err != nil {
									got = AsError(err).Code
								}
								if cells++; got != want {
									t.Errorf("%s of a %s by %s with %v, grant %q, plan %s without %q: %q, want %q", op, role, kind, scopes, grant, plan, lacking, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if cells != 13*3*6*5*8*4*2 {
		t.Errorf("the table has %d cells", cells)
	}
	for op, r := range rules {
		if _, listed := permissions[op]; listed != (r.grant != GrantNone) {
			t.Errorf("%s: in the table %v, but its grant is %q", op, listed, r.grant)
		}
	}
}

func TestCapabilitiesFollowTheGrant(t *testing.T) {
	t.Parallel()
	a := Actor{UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage}}
	for grant, want := range map[Grant][]Capability{
		GrantNone:    {},
		GrantViewer:  {CapSearch},
		GrantUser:    {CapSearch, CapChat, CapResearch, CapMemories, CapFavourites},
		GrantManager: capabilities,
		GrantOwner:   capabilities,
	} {
		if got := a.CapabilitiesOn(grant); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", grant, got, want)
		}
	}
	for _, word := range []string{"", "owner", "Viewer", "nothing"} {
		if g, ok := GrantOf(word); ok || g != GrantNone {
			t.Errorf("%q is taken for %q", word, g)
		}
	}
}

func BenchmarkAllowAgent(b *testing.B) {
	a := Actor{UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage}, Agents: []string{"agt"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.AllowAgent(OpSendMessage, "agt", GrantUser); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheDecisionAllocatesNothing(t *testing.T) {
	a := Actor{UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage}, Agents: []string{"agt"}}
	if n := testing.AllocsPerRun(100, func() { _ = a.AllowAgent(OpSendMessage, "agt", GrantUser) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
