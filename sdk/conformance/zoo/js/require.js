const fs = require("fs");

module.exports = ({ messages }) => messages.length + fs.existsSync("/etc");
