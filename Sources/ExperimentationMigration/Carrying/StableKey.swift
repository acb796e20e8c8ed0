import Experimentation

/// What a user is known by for the whole of a move: the anonymous id if there is one, so that signing in moves nobody.
struct StableKey: Sendable, Hashable {
    let text: String

    init(_ user: Identity) {
        let anonymous = user.anonymousID ?? ""
        text = anonymous.isEmpty ? user.id : anonymous
    }

    init(_ text: String) { self.text = text }

    /// A digest for keys of the store and for reports.
    var digest: String { String(Digest.hex("migration/user", text).prefix(32)) }

    /// Where the user falls between 0 and 1; even, and another for each salt.
    func point(salt: String) -> Double {
        let bytes = Digest.sha256(Array("\(salt)\u{0}\(text)".utf8))
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // 53 bits fill a Double's fraction: the point is below 1, always.
        return Double(number >> 11) * 0x1p-53
    }

    /// The side by hash alone.
    ///
    /// Raising the share only ever moves users from the old vendor to the new one.
    func side(share: Double, salt: String) -> MigrationSide { point(salt: salt) < share ? .new : .old }
}
