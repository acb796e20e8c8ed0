import Experimentation

/// The id that identifies a user throughout a move: the anonymous id if there is one, so that signing in changes no
/// side.
struct StableKey: Sendable, Hashable {
    let text: String

    init(_ user: Identity) {
        let anonymous = user.anonymousID ?? ""
        text = anonymous.isEmpty ? user.id : anonymous
    }

    init(_ text: String) { self.text = text }

    /// The digest used in store keys and reports.
    var digest: String { String(Digest.hex("migration/user", text).prefix(32)) }

    /// The user's position in 0..<1; uniform, and independent for each salt.
    func point(salt: String) -> Double {
        let bytes = Digest.sha256(Array("\(salt)\u{0}\(text)".utf8))
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // 53 bits fill a Double's significand, so the result is always below 1.
        return Double(number >> 11) * 0x1p-53
    }

    /// Draws the side by the hash alone.
    ///
    /// Raising the share only moves users from the old vendor to the new one.
    func side(share: Double, salt: String) -> MigrationSide { point(salt: salt) < share ? .new : .old }
}
