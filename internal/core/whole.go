package core

// accountWide reports whether an operation concerns the account or the installation as a whole, and not single agents.
func (r Rule) accountWide() bool { return r.Access == AccessAccount || r.Access == AccessAdmin }

// AllowWholeAccount refuses a credential that is limited to certain agents. Such a credential was made so that a leak
// exposes these agents alone, whatever its scopes say: it may not read or change keys, sessions, usage, webhooks,
// exports or anything else that reaches beyond them. Allow asks it for every operation of the account-wide areas.
func (a Actor) AllowWholeAccount() error {
	if len(a.Agents) == 0 {
		return nil
	}
	return Forbidden("limited_to_agents",
		"This credential is limited to certain agents. Use one that is for the whole account.")
}
