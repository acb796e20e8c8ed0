import Experimentation

/// Recognizes a user without naming them.
struct UserMark: Sendable, Hashable, Codable {
    private var salt: String
    private var digest: String

    init(of userID: String, salt: String) {
        self.salt = salt
        digest = Digest.hex(salt, userID)
    }

    /// Whether the mark was made from this user's id.
    func isOf(_ userID: String) -> Bool { digest == Digest.hex(salt, userID) }
}
