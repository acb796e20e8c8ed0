import GatewayBodies

/// The mark of a user's denial in the file: which denial set it, and which grants may have ended it.
struct DenialMark: Sendable, Equatable {
    /// The digest of the denial's id.
    let denial: [UInt8]
    /// The digests of the grants' ids.
    private(set) var grants: [[UInt8]] = []

    private static let space = UInt8(ascii: " ")

    private static func digest(_ event: EventRequest) -> [UInt8] { Array(SeenEvents.digest(event.id).utf8) }

    init(of denial: EventRequest) { self.denial = Self.digest(denial) }

    /// Reads a mark; one of an earlier version has no grants.
    init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: Self.space).map(Array.init)
        denial = parts.first ?? []
        grants = Array(parts.dropFirst())
    }

    /// The mark's stored form.
    var bytes: [UInt8] { Array(([denial] + grants).joined(separator: [Self.space])) }

    func lists(_ grant: EventRequest) -> Bool { grants.contains(Self.digest(grant)) }

    /// The mark with a grant added, unless it lists the grant already.
    func adding(_ grant: EventRequest) -> DenialMark {
        var mark = self
        if !lists(grant) { mark.grants.append(Self.digest(grant)) }
        return mark
    }

    /// The mark without a grant.
    func removing(_ grant: EventRequest) -> DenialMark {
        var mark = self
        mark.grants.removeAll { $0 == Self.digest(grant) }
        return mark
    }
}
