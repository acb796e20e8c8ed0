extension Migration {
    /// The age of each vendor's rules in this process; nothing for a vendor without rules here.
    public func rulesAges() async -> [MigrationSide: Duration] {
        var ages: [MigrationSide: Duration] = [:]
        for side in MigrationSide.allCases { ages[side] = await party(side).rules?.age }
        return ages
    }
}
