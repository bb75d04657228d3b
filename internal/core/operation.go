package core

import (
	"maps"
	"slices"
)

//go:generate go run ./gen

// Operation names an operation of the contract by its operationId, or one of the internal operations below.
type Operation string

// Internal operations, which have an access rule but no operationId. OpResearch is a message that requests research.
// OpUseMCP is the MCP endpoint as a whole. OpAccount, OpKeys, OpBilling and OpAdmin each stand for a whole area, in
// services whose methods serve several of its operations.
const (
	OpResearch Operation = "research"
	OpUseMCP   Operation = "useMCP"
	OpAccount  Operation = "account"
	OpKeys     Operation = "keys"
	OpBilling  Operation = "billing"
	OpAdmin    Operation = "admin"
)

// Access is the level of access that an operation requires.
type Access uint8

// The levels. Read, Use, Manage and Own are levels of access to an agent and everything below it, and correspond to
// the grants viewer, user, manager and owner. Operations without an agent in their path use them to select the
// credential's scope. Account and Admin are the caller's own account and the administration of the installation. User
// accepts any valid credential, Public requires none. The zero value allows nothing.
const (
	AccessNone Access = iota
	AccessRead
	AccessUse
	AccessManage
	AccessOwn
	AccessAccount
	AccessAdmin
	AccessUser
	AccessPublic
)

var grants = map[Access]Grant{
	AccessRead: GrantViewer, AccessUse: GrantUser, AccessManage: GrantManager, AccessOwn: GrantOwner,
}

// Grant is the lowest grant that gives a user this level of access to an agent.
func (a Access) Grant() Grant { return grants[a] }

// Rule is the access that an operation requires.
type Rule struct {
	Access Access
	// Area is the part of the service that the credential's scopes must cover.
	Area Area
	// Plan is the capability that the user's plan must include; empty if none.
	Plan Capability
	// Metered operations need a subscription and must stay below the spend cap.
	Metered bool
	// Session operations are refused to keys and tokens, whatever their scopes.
	Session bool
	// Proof operations need a session whose user proved their identity within ProofLife; see Actor.Proved.
	Proof bool
	// OnAgent operations have an agent in their path. The user needs the grant of Access for it.
	OnAgent bool
}

// Body says whether an operation takes a request body.
type Body uint8

// The values of Body. A body sent to a BodyNone operation is ignored.
const (
	BodyNone Body = iota
	BodyOptional
	BodyRequired
)

// Creates says what an operation creates, and so how it honours an Idempotency-Key.
type Creates uint8

// The values of Creates. A retry of a request that created a resource gets the stored reply. A retry of a message
// joins the turn that the first request started and gets its current state.
const (
	CreatesNothing Creates = iota
	CreatesResource
	CreatesTurn
)

// Tool describes the MCP tool of an operation. The hints correspond to the protocol's tool annotations.
type Tool struct {
	Name string
	// Order is the tool's place in the list of tools, which starts with the most used ones.
	Order                                        int
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Note is appended to the operation's description.
	Note string
}

// Traits is the row of an operation in the table that is generated from the contract.
type Traits struct {
	Rule
	// Method and Path identify the operation in the REST API. Path has parameters in braces: /api/agents/{agentId}.
	Method, Path string
	Body         Body
	Creates      Creates
	// Secret marks operations whose reply contains a secret, which a retry may repeat to the same credential only.
	Secret bool
	// Plain operations have a handwritten HTTP handler, because their request or reply is not JSON.
	Plain bool
	// Tool is the MCP tool of the operation; the zero value if it has none.
	Tool Tool
	// Deprecated is set if the operation, or a field of its reply, will be removed.
	Deprecated Deprecation
}

// Deprecation says since when an operation or a field of its reply is deprecated, and when it may be removed, in Unix
// seconds. The zero value means that it is not deprecated.
type Deprecation struct{ Since, Sunset int64 }

// internal holds the rules of the operations that are not part of the contract.
var internal = map[Operation]Rule{
	OpResearch: {Access: AccessUse, Area: AreaChat, Plan: CapResearch, Metered: true, OnAgent: true},
	OpUseMCP:   {Access: AccessRead, Area: AreaAgents, Plan: CapMCP},
	OpAccount:  {Access: AccessAccount, Area: AreaAccount},
	OpKeys:     {Access: AccessAccount, Area: AreaKeys},
	OpBilling:  {Access: AccessAccount, Area: AreaBilling},
	OpAdmin:    {Access: AccessAdmin, Area: AreaAdmin},
}

// Rule returns the access that the operation requires. An unknown operation has no rule and is always denied.
func (op Operation) Rule() (Rule, bool) {
	if t, ok := operations[op]; ok {
		return t.Rule, true
	}
	r, ok := internal[op]
	return r, ok
}

// Traits returns the operation's row in the contract's table.
func (op Operation) Traits() (Traits, bool) {
	t, ok := operations[op]
	if !ok {
		return Traits{}, false
	}
	return *t, true
}

// Operations lists the operations of the contract, sorted by name.
func Operations() []Operation { return slices.Sorted(maps.Keys(operations)) }

// Tools lists the operations that are MCP tools, in the order in which they are offered.
func Tools() []Operation {
	var tools []Operation
	for _, op := range Operations() {
		if operations[op].Tool.Name != "" {
			tools = append(tools, op)
		}
	}
	slices.SortFunc(tools, func(a, b Operation) int { return operations[a].Tool.Order - operations[b].Tool.Order })
	return tools
}
