import ConformanceKit
import ExperimentationMigration

extension MigratingSubject {
    /// Every move that the suite tests, at each stage: between the vendors that decide on this device, from one that is
    /// asked to one that computes, and from the in-memory provider to each vendor.
    public static let all: [MigratingSubject] = {
        let pairs =
            [("flagship-bucketing", "sigma"), ("sigma", "flagship-bucketing"), ("flagship", "sigma")]
            + [("flagship", "flagship-bucketing")]
            + Vendor.all.flatMap(\.subjects).map { ("in-memory", $0.name) }
        return pairs.flatMap { old, new in
            guard let one = Vendor.played(old), let two = Vendor.played(new) else { return [MigratingSubject]() }
            return MigrationStage.allCases.map { MigratingSubject(from: one, to: two, at: $0) }
        }
    }()

    /// A selection that covers each leader, each stage with a shadow, and both kinds of vendors at least once.
    public static let few: [MigratingSubject] = {
        let names: Set = [
            "flagship-bucketing>sigma@shadow", "sigma>flagship-bucketing@live", "in-memory>flagship@rampDown",
        ]
        return all.filter { names.contains($0.name) }
    }()

    /// Each pair of vendors once: the cases about moves choose their stages themselves.
    public static let pairs: [MigratingSubject] = all.filter { $0.stage == .live }

    /// The one that `xp conform` runs by default, alongside the vendors.
    public static let one = few.filter { $0.name == "sigma>flagship-bucketing@live" }
}

extension Vendor {
    /// Returns the subject with a name: a vendor, the in-memory provider, or a move at one of its stages.
    public static func played(_ name: String) -> (any ConformanceSubject)? {
        if let subject = everySubject.first(where: { $0.name == name }) { return subject }
        return name.contains("@") ? MigratingSubject.all.first { $0.name == name } : nil
    }
}
