package core

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestAccess covers an operation of every area and level for every kind of caller.
func TestAccess(t *testing.T) {
	t.Parallel()
	work := []Scope{ScopeAgents, ScopeManage}
	callers := map[string]Actor{
		"a key":                  {UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: work},
		"a key for agents alone": {UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents}},
		"a key with account": {
			UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: append(work[:2:2], ScopeAccount),
		},
		"a minted key":         {UserID: "u", Plan: PlanOpen, Credential: CredentialMinted, Scopes: work},
		"a key without a plan": {UserID: "u", Plan: PlanNone, Credential: CredentialKey, Scopes: work},
		"a key under the cap": {
			UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: work, Spend: Spend{Capped: true, Cap: 2, Used: 1},
		},
		"a key at the cap": {
			UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: work, Spend: Spend{Capped: true, Cap: 2, Used: 2},
		},
		"a key at a cap of nothing": {
			UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: work, Spend: Spend{Capped: true},
		},
		"a credential without scopes": {UserID: "u", Plan: PlanOpen},
		"a minted key with too much": {
			UserID: "u", Plan: PlanOpen, Role: RoleOwner, Credential: CredentialMinted, Scopes: RoleOwner.Scopes(),
		},
		"a token with too much": {
			UserID: "u", Plan: PlanOpen, Role: RoleOwner, Credential: CredentialOAuth, Scopes: RoleOwner.Scopes(),
		},
		"a kind that nobody knows": {
			UserID: "u", Plan: PlanOpen, Role: RoleOwner, Credential: "badge", Scopes: RoleOwner.Scopes(),
		},
		"an admin key of a member": {
			UserID: "u", Plan: PlanOpen, Role: RoleMember, Credential: CredentialKey, Scopes: RoleOwner.Scopes(),
		},
		"a member's session": {
			UserID: "u", Plan: PlanOpen, Role: RoleMember, Credential: CredentialSession, Scopes: RoleMember.Scopes(),
		},
		"an admin's session": {
			UserID: "u", Plan: PlanOpen, Role: RoleAdmin, Credential: CredentialSession, Scopes: RoleAdmin.Scopes(),
		},
		"nobody":       {},
		"the operator": Operator("u"),
	}
	const (
		ok      = ""
		scope   = "insufficient_scope"
		plan    = "no_subscription"
		capped  = "spend_cap_reached"
		refused = "forbidden"
	)
	columns := []Operation{
		OpListAgents, OpCreateAgent, OpSearch, OpListThreads, OpCreateThread, OpSendMessage, OpResearch, OpGetDocument,
		OpListMemories, OpAddMemory, OpListFavourites, OpSaveFavourite, OpKeys, OpBilling, OpAccount, OpAdmin, OpUseMCP,
		OpDeleteAgent,
	}
	for name, want := range map[string][]string{
		"a key":                  {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a key for agents alone": {ok, scope, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a key with account":     {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope},
		"a minted key":           {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a key without a plan":   {ok, ok, plan, ok, ok, plan, plan, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a key under the cap":    {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a key at the cap": {
			ok, ok, capped, ok, ok, capped, capped, ok, ok, ok, ok, ok, scope, scope, scope, scope,
		},
		"a key at a cap of nothing": {
			ok, ok, capped, ok, ok, capped, capped, ok, ok, ok, ok, ok, scope, scope, scope, scope,
		},
		"a credential without scopes": {
			scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope,
		},
		"nobody": {
			refused, refused, refused, refused, refused, refused, refused, refused, refused, refused, refused, refused, refused,
			refused, refused, scope,
		},
		"a minted key with too much": {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a token with too much":      {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope, scope, scope, scope},
		"a kind that nobody knows": {
			scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope, scope,
		},
		"an admin key of a member": {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, refused},
		"a member's session":       {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, scope},
		"an admin's session":       {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok},
		"the operator":             {ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok},
	} {
		want = append(want, want[0], want[1]) // reading agents includes MCP; managing includes owning
		for i, op := range columns {
			got := ""
			var e *Error
			if err := callers[name].Allow(op); errors.As(err, &e) {
				got = e.Code
			}
			if got != want[i] {
				t.Errorf("%s, %s: %q, want %q", name, op, got, want[i])
			}
		}
	}
	for _, op := range []Operation{"", "something new", OpExchangeConnectCode} {
		if err := callers["the operator"].Allow(op); !IsKind(err, KindForbidden) {
			t.Errorf("%q, which has no rule or is public: %v", op, err)
		}
	}
}

func TestCapabilitiesFollowPlanAndScopes(t *testing.T) {
	t.Parallel()
	a := Actor{
		UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents, ScopeManage, ScopeAccount},
	}
	if got := a.Capabilities(); !slices.Equal(got, capabilities) {
		t.Errorf("with everything: %v", got)
	}
	a.Scopes = []Scope{ScopeAgents, ScopeManage}
	a.Plan = PlanNone
	if got, want := a.Capabilities(), []Capability{CapMemories, CapFavourites, CapManage}; !slices.Equal(got, want) {
		t.Errorf("without a plan: %v", got)
	}
	a.Scopes = []Scope{ScopeAgents}
	if got, want := a.Capabilities(), []Capability{CapMemories, CapFavourites}; !slices.Equal(got, want) {
		t.Errorf("without a plan and manage: %v", got)
	}
}

func TestSpendCapErrorNamesUsageAndReset(t *testing.T) {
	t.Parallel()
	a := Actor{UserID: "u", Plan: PlanOpen, Credential: CredentialKey, Scopes: []Scope{ScopeAgents}, Spend: Spend{
		Capped: true, Cap: 12_500_000, Used: 12_501_000, ResetsAt: MonthEnd(time.Date(2024, 12, 31, 23, 59, 0, 0, time.UTC)),
	}}
	want := "The spend cap of 12.50 USD is reached (12.50 USD used). It resets at 2025-01-01T00:00:00Z; " +
		"an admin can raise it."
	if got := AsError(a.Allow(OpSearch)).Detail; got != want {
		t.Errorf("got %q", got)
	}
}

func TestCredentialLimitedToAgents(t *testing.T) {
	t.Parallel()
	if a := (Actor{}); !a.Touches("x") {
		t.Error("a credential without a list must touch all agents")
	}
	if a := (Actor{Agents: []string{"x"}}); !a.Touches("x") || a.Touches("y") {
		t.Error("a credential with a list must touch only those agents")
	}
}
