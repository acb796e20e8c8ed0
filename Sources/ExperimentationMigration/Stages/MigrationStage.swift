/// How far a move has come: who answers, who is asked beside it, and where events go.
public enum MigrationStage: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing has begun: the old vendor answers and takes all events.
    case off
    /// The old vendor answers; events go to both.
    case dualWrite
    /// As before, and the new vendor is asked in the shadow, to be compared.
    case shadow
    /// The new vendor answers a share of the users; for everybody the other one is asked in the shadow.
    case live
    /// The new vendor answers everybody; events still go to both.
    case rampDown
    /// The old vendor is neither asked nor told anything.
    case complete

    /// Who answers everybody; `nil` where it depends on the user.
    public var leader: MigrationSide? {
        switch self {
        case .off, .dualWrite, .shadow: .old
        case .live: nil
        case .rampDown, .complete: .new
        }
    }

    /// Whether whoever doesn't answer is asked in the shadow.
    public var hasShadow: Bool { self == .shadow || self == .live }

    /// Whether goal and custom events go to a vendor.
    public func sendsEvents(to side: MigrationSide) -> Bool {
        switch self {
        case .off: side == .old
        case .dualWrite, .shadow, .live, .rampDown: true
        case .complete: side == .new
        }
    }

    /// Whether a vendor may answer anybody in this stage.
    public func mayLead(_ side: MigrationSide) -> Bool { leader == nil || leader == side }

    /// The place among the stages, from 0 for ``off``.
    public var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// One of the two vendors of a move.
public enum MigrationSide: String, Sendable, Hashable, Codable, CaseIterable {
    /// The vendor that is left.
    case old
    /// The vendor that is moved to.
    case new

    /// The opposite one.
    public var other: MigrationSide { self == .old ? .new : .old }
}
