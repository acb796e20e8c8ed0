/// The progress of a move: who leads, who is asked in the shadow, and where events go.
public enum MigrationStage: String, Sendable, Hashable, Codable, CaseIterable {
    /// The old vendor leads and gets all events; after a return from a later stage, both get denials of consent.
    case off
    /// The old vendor leads; events go to both.
    case dualWrite
    /// The old vendor leads, the new one is asked in the shadow; events go to both.
    case shadow
    /// The new vendor leads a share of the users; the other one is asked in the shadow.
    case live
    /// The new vendor leads everyone; events still go to both.
    case rampDown
    /// The new vendor leads and gets all events; the old one gets only events that still wait for it, exposures of what
    /// it answered, and denials of consent.
    case complete

    /// The vendor that leads everyone; `nil` where it depends on the user.
    public var leader: MigrationSide? {
        switch self {
        case .off, .dualWrite, .shadow: .old
        case .live: nil
        case .rampDown, .complete: .new
        }
    }

    /// Whether the vendor that doesn't lead is asked in the shadow.
    public var hasShadow: Bool { self == .shadow || self == .live }

    /// Whether goal and custom events go to a vendor.
    public func sendsEvents(to side: MigrationSide) -> Bool {
        switch self {
        case .off: side == .old
        case .dualWrite, .shadow, .live, .rampDown: true
        case .complete: side == .new
        }
    }

    /// Whether a vendor may lead anyone in this stage.
    public func mayLead(_ side: MigrationSide) -> Bool { leader == nil || leader == side }

    /// The stage's position, from 0 for ``off``.
    public var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// One of the two vendors of a move.
public enum MigrationSide: String, Sendable, Hashable, Codable, CaseIterable {
    /// The old vendor.
    case old
    /// The new vendor.
    case new

    /// The other side.
    public var other: MigrationSide { self == .old ? .new : .old }
}
