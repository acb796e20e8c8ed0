import Experimentation

/// Change notices of all deciding vendors that announce changes.
struct ComposedChanges: ChangeSource {
    /// A vendor that announces changes.
    struct Announcer: Sendable {
        let name: String
        let changes: any ChangeSource
        /// Its rules, where others are asked for each user.
        let rules: PartRules?
    }

    /// The vendors; not empty.
    let announcers: [Announcer]

    /// Creates a source; `nil` if no vendor announces changes.
    ///
    /// - Parameters:
    ///   - parts: The vendors.
    ///   - rules: The rules of each deciding vendor, in order.
    init?(_ parts: Parts, _ rules: [PartRules?]) {
        announcers = zip(parts.deciding, rules).compactMap { part, rules in
            part.roles.changes.map { Announcer(name: part.name, changes: $0, rules: rules) }
        }
        if announcers.isEmpty { return nil }
    }

    func notices() -> AsyncStream<ChangeNotice> {
        // Listens to all vendors before this returns: what a vendor opens with its first answer, it opens only for a
        // listener.
        .merging(announcers.map { $0.changes.notices() }) { [announcers] index, notice in
            switch notice {
            case .changed:
                await announcers[index].rules?.expire()
                return .changed
            case .unheard(let error): return .unheard(error.of(announcers[index].name))
            }
        }
    }

    func setApplicationState(_ applicationState: ApplicationState) {
        for announcer in announcers { announcer.changes.setApplicationState(applicationState) }
    }
}
