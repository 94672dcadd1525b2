package natsd

// Follow reports the users in a file whenever they change.
var Follow = follow
