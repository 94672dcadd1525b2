package natsd

// Follow tells of the users in a file whenever they are others than before.
var Follow = follow
