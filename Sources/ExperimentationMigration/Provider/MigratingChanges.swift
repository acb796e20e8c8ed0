import Experimentation

/// Change notices of both vendors; forwards those of a vendor that may lead in the current stage.
struct MigratingChanges: ChangeSource {
    let migration: Migration

    /// The vendors that announce changes.
    private var announcers: [(side: MigrationSide, changes: any ChangeSource)] {
        MigrationSide.allCases.compactMap { side in migration.party(side).roles.changes.map { (side, $0) } }
    }

    func notices() -> AsyncStream<ChangeNotice> {
        let announcers = announcers
        let sides = announcers.map(\.side)
        // Listens to both vendors before this returns: what a vendor opens with its first answer, it opens only for a
        // listener.
        return .merging(announcers.map { $0.changes.notices() }) { [migration] index, notice in
            if notice == .changed { await migration.party(sides[index]).rules?.expire() }
            return migration.stage.mayLead(sides[index]) ? notice : nil
        }
    }

    /// Tells both vendors, whichever leads: the stage may change while the application is in the background.
    func setApplicationState(_ applicationState: ApplicationState) {
        for announcer in announcers { announcer.changes.setApplicationState(applicationState) }
    }
}
