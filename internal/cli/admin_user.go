package cli

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
	Email    userEmail    `cmd:"" help:"Set the e-mail address of an account, for example the one its user asked for."`
	Password userPassword `cmd:"" help:"Set a new password and end all sessions."`
	Reset    userReset    `cmd:"" help:"Create a code with which the user sets a new password."`
	Disable  userDisable  `cmd:"" help:"Disable an account. Its credentials fail from the next request."`
	Export   userExport   `cmd:"" help:"Export all data of an account to a zip file."`
	Delete   userDelete   `cmd:"" help:"Delete an account and all its data permanently."`
}

type userCreate struct {
	Email    string `required:"" help:"E-mail address, used to sign in."`
	Name     string `required:"" help:"Display name."`
	Password string `required:"" help:"Password of at least 8 characters; - prompts for it, or reads it from standard input."`
	Role     string `enum:"admin,member," default:"" help:"admin or member. Default: member."`
	Plan     string `placeholder:"NAME" help:"Plan, or none for no subscription. Default: the setting default-plan."`
	JSON     bool   `help:"Print one JSON object: {\"user\":{\"id\":…}}."`
}

// Run creates an account.
func (c userCreate) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	password, err := readSecret(env, c.Password, "Password")
	if err != nil {
		return err
	}
	return parent.run(ctx, env, true, func(a admin) error {
		role := core.Role(c.Role)
		if role == "" {
			users, err := a.Accounts.List(ctx, core.Operator(""))
			if err != nil {
				return err
			}
			if len(users) == 0 {
				role = core.RoleOwner
			}
		}
		if c.Plan == "" {
			c.Plan = a.Config.DefaultPlan
		}
		if c.Plan != core.PlanNone {
			_, err := a.Billing.Plans.Get(ctx, core.Operator(""), c.Plan)
			if core.IsKind(err, core.KindNotFound) {
				return billing.NoSuchPlan()
			}
			if err != nil {
				return err
			}
		}
		u, err := a.Accounts.Create(ctx, core.Operator(""), account.NewUser{
			Email: c.Email, Name: c.Name, Password: password, Role: role, Plan: c.Plan,
		})
		if err != nil {
			return err
		}
		if err := a.record(ctx, audit.UserCreated, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": userJSON(u)},
			"Created %s (%s), role %s, plan %s.", u.Email, u.ID, u.Role, u.Plan)
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
		users, err := a.Accounts.List(ctx, core.Operator(""))
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "users", users, userJSON,
			"EMAIL\tNAME\tROLE\tPLAN\tSPEND CAP\tCREATED\tDISABLED\tID", func(u account.User) []string {
				spend := "none"
				if u.SpendCap != nil {
					spend = core.USD(*u.SpendCap)
				}
				return []string{u.Email, u.Name, string(u.Role), u.Plan, spend, date(u.CreatedAt), dateOr(u.DisabledAt, "-"), u.ID}
			})
	})
}

type userDisable struct {
	userFlag
	JSON bool `help:"Print one JSON object."`
}

// Run disables an account.
func (c userDisable) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		if err := a.Accounts.Disable(ctx, core.Operator(""), u.ID); err != nil {
			return err
		}
		if err := a.record(ctx, audit.UserDisabled, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "disabled": true}}, "Disabled %s.", u.Email)
	})
}

type userEmail struct {
	User  string `required:"" placeholder:"EMAIL" help:"The account."`
	Email string `required:"" placeholder:"EMAIL" help:"The new address. It counts as verified: make sure that it belongs to the user."`
	JSON  bool   `help:"Print one JSON object: {\"user\":{\"id\":…}}."`
}

// Run sets the e-mail address of an account.
func (c userEmail) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		u, err := a.Accounts.Adjust(ctx, core.Operator(""), u.ID, account.Adjustment{Email: &c.Email})
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": userJSON(u)}, "The e-mail address is now %s.", u.Email)
	})
}

type userPassword struct {
	userFlag
	Password string `required:"" help:"Password of at least 8 characters; - prompts for it, or reads it from standard input."`
	JSON     bool   `help:"Print one JSON object."`
}

// Run sets a password.
func (c userPassword) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	password, err := readSecret(env, c.Password, "Password")
	if err != nil {
		return err
	}
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		if err := a.SignIn.Passwords.Set(ctx, core.Operator(""), u.ID, password, ""); err != nil {
			return err
		}
		if err := a.record(ctx, audit.PasswordChanged, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"user": map[string]any{"id": u.ID, "signedOut": true}},
			"%s has a new password and is signed out everywhere.", u.Email)
	})
}

type userReset struct {
	userFlag
	ClearFactors bool `name:"clear-factors" help:"Also remove passkeys and the authenticator app when the code is used, for a user who has lost them."`
	JSON         bool `help:"Print one JSON object: {\"reset\":{\"url\":…,\"code\":…}}."`
}

// Run creates a code for a new password. The user types it into a page. It is not part of a link, because links are
// kept in browser histories, proxy logs and chats.
func (c userReset) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		reset, code, err := a.SignIn.Resets.Issue(ctx, core.Operator(""), u.ID, c.ClearFactors)
		if err != nil {
			return err
		}
		page := a.Config.BaseURL + webapp.ResetPath
		return a.print(c.JSON,
			map[string]any{"reset": map[string]any{"url": page, "code": code, "expiresAt": date(reset.ExpiresAt)}},
			"Ask %s to open\n\n  %s\n\nand to enter\n\n  %s\n\nThe code works once, until %s. The old password works until "+
				"the code is used.",
			u.Email, page, code, date(reset.ExpiresAt))
	})
}

// record adds an action of the operator to the audit log.
func (a admin) record(ctx context.Context, event audit.Event, u account.User) error {
	return a.Audit.Append(ctx, audit.Record{Event: event, UserID: u.ID, Actor: string(core.CredentialOperator)})
}
