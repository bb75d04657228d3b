package app

import (
	"context"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/webapp"
)

type userCommands struct {
	Create   userCreate   `cmd:"" help:"Create an account. The first one owns the installation."`
	List     userList     `cmd:"" help:"List accounts."`
	Email    userEmail    `cmd:"" help:"Set the e-mail address of an account, also to accept the one that its user asked for."`
	Password userPassword `cmd:"" help:"Give an account a new password, which signs it out everywhere."`
	Reset    userReset    `cmd:"" help:"Make a code with which somebody chooses a new password themselves."`
	Disable  userDisable  `cmd:"" help:"Disable an account; its credentials fail from the next request on."`
	Export   userExport   `cmd:"" help:"Write all that an account holds into a zip file."`
	Delete   userDelete   `cmd:"" help:"Delete an account with all that it holds, for good."`
}

type userCreate struct {
	Email    string `required:"" help:"E-mail address, also the name to sign in with."`
	Name     string `required:"" help:"Name shown to people."`
	Password string `required:"" help:"Password of at least 8 characters; - asks for it, or reads it from the standard input."`
	Role     string `enum:"admin,member," default:"" help:"admin or member. Default: member."`
	Plan     string `placeholder:"NAME" help:"Plan, or none for no subscription. Default: that of default-plan."`
	JSON     bool   `help:"Print one JSON object: {\"user\":{\"id\":…}}."`
}

// Run creates an account.
func (c userCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	password, err := secretOf(env, c.Password, "Password")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, true, func(a admin) error {
		role := core.Role(c.Role)
		if role == "" {
			users, err := a.accounts.List(ctx, core.Operator(""))
			if err != nil {
				return err
			}
			if len(users) == 0 {
				role = core.RoleOwner
			}
		}
		if c.Plan == "" {
			c.Plan = a.config.DefaultPlan
		}
		if c.Plan != core.PlanNone {
			_, err := a.billing.Plans.Get(ctx, core.Operator(""), c.Plan)
			if core.IsKind(err, core.KindNotFound) {
				return billing.NoSuchPlan()
			}
			if err != nil {
				return err
			}
		}
		u, err := a.accounts.Create(ctx, core.Operator(""), account.NewUser{
			Email: c.Email, Name: c.Name, Password: password, Role: role, Plan: c.Plan,
		})
		if err != nil {
			return err
		}
		if err := a.note(ctx, audit.UserCreated, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": userJSON(u)}, "Created %s (%s), role %s, plan %s.", u.Email, u.ID, u.Role, u.Plan)
	})
}

func userJSON(u account.User) map[string]any {
	out := map[string]any{
		"id": u.ID, "email": u.Email, "name": u.Name, "role": u.Role, "plan": u.Plan,
		"createdAt": date(u.CreatedAt), "disabled": u.DisabledAt != nil,
	}
	if u.SpendCap != nil {
		out["spendCapMicros"] = *u.SpendCap
	}
	if u.PendingEmail != "" {
		out["pendingEmail"] = u.PendingEmail
	}
	return out
}

type userList struct {
	JSON bool `help:"Print one JSON object: {\"users\":[…]}."`
}

// Run lists accounts.
func (c userList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		users, err := a.accounts.List(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		if c.JSON {
			list := make([]map[string]any, len(users))
			for i, u := range users {
				list[i] = userJSON(u)
			}
			return a.print(true, map[string]any{"users": list}, "")
		}
		rows := make([][]string, len(users))
		for i, u := range users {
			spend := "none"
			if u.SpendCap != nil {
				spend = core.USD(*u.SpendCap)
			}
			rows[i] = []string{u.Email, u.Name, string(u.Role), u.Plan, spend, date(u.CreatedAt), dateOr(u.DisabledAt, "-"), u.ID}
		}
		return a.table("EMAIL\tNAME\tROLE\tPLAN\tSPEND CAP\tCREATED\tDISABLED\tID", rows)
	})
}

type userDisable struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	JSON bool   `help:"Print one JSON object."`
}

// Run disables an account.
func (c userDisable) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		if err := a.accounts.Disable(ctx, core.Operator(""), u.ID); err != nil {
			return err
		}
		if err := a.note(ctx, audit.UserDisabled, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "disabled": true}}, "Disabled %s.", u.Email)
	})
}

type userEmail struct {
	User  string `required:"" placeholder:"EMAIL" help:"The account."`
	Email string `required:"" placeholder:"EMAIL" help:"The address that it gets. It counts as verified: make sure that it belongs to the account's user."`
	JSON  bool   `help:"Print one JSON object: {\"user\":{\"id\":…}}."`
}

// Run sets the address of an account.
func (c userEmail) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		u, err = a.accounts.Adjust(ctx, core.Operator(""), u.ID, account.Adjustment{Email: &c.Email})
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": userJSON(u)}, "The account is now that of %s.", u.Email)
	})
}

type userPassword struct {
	User     string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Password string `required:"" help:"Password of at least 8 characters; - asks for it, or reads it from the standard input."`
	JSON     bool   `help:"Print one JSON object."`
}

// Run sets a password.
func (c userPassword) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	password, err := secretOf(env, c.Password, "Password")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		if err := a.signIn.Passwords.Set(ctx, core.Operator(""), u.ID, password, ""); err != nil {
			return err
		}
		if err := a.note(ctx, audit.PasswordChanged, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "signedOut": true}},
			"%s has a new password and is signed out everywhere.", u.Email)
	})
}

type userReset struct {
	User         string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	ClearFactors bool   `name:"clear-factors" help:"Also remove passkeys and the authenticator app when the code is used, for somebody who has lost them."`
	JSON         bool   `help:"Print one JSON object: {\"reset\":{\"url\":…,\"code\":…}}."`
}

// Run makes a code for a new password. It is typed into a page, not part of its address: addresses stay in histories, in
// logs of proxies and in chats.
func (c userReset) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		reset, code, err := a.signIn.Resets.Issue(ctx, core.Operator(""), u.ID, c.ClearFactors)
		if err != nil {
			return err
		}
		page := a.config.BaseURL + webapp.ResetPath
		return a.print(c.JSON,
			map[string]any{"reset": map[string]any{"url": page, "code": code, "expiresAt": date(reset.ExpiresAt)}},
			"Tell %s to open\n\n  %s\n\nand to type\n\n  %s\n\nThe code is good once, until %s. The old password works until then.",
			u.Email, page, code, date(reset.ExpiresAt))
	})
}

// note writes down what the operator did to an account.
func (a admin) note(ctx context.Context, event audit.Event, u account.User) error {
	return a.audit.Append(ctx, audit.Record{Event: event, UserID: u.ID, Actor: string(core.CredentialOperator)})
}
