import ConformanceKit
import Experimentation
import ExperimentationMigration

extension MigratingSubject {
    /// Every move that the suite tests, at each possible stage: between the vendors that decide on this device, from
    /// one that is asked to one that computes, and from the in-memory provider to each vendor.
    public static let all: [MigratingSubject] = everyPair.flatMap { pair in
        MigrationStage.allCases.map { MigratingSubject(from: pair.old, to: pair.new, at: $0) }.filter(\.isPossible)
    }

    private static let everyPair: [(old: any ConformanceSubject, new: any ConformanceSubject)] = {
        let names =
            [("flagship-bucketing", "sigma"), ("sigma", "flagship-bucketing"), ("flagship", "sigma")]
            + [("flagship", "flagship-bucketing")]
            + Vendor.all.flatMap(\.subjects).map { ("in-memory", $0.name) }
        return names.compactMap { old, new in
            guard let one = Vendor.played(old), let two = Vendor.played(new) else { return nil }
            return (one, two)
        }
    }()

    /// Whether the move may be at this stage: a vendor that decides nothing can neither lead nor be compared.
    private var isPossible: Bool {
        new.decides || !old.decides || stage == .off || stage == .dualWrite
    }

    /// A selection that covers each leader, each stage with a shadow, and both kinds of vendors at least once.
    public static let few: [MigratingSubject] = {
        let names: Set = [
            "flagship-bucketing>sigma@shadow", "sigma>flagship-bucketing@live", "in-memory>flagship@rampDown",
        ]
        return all.filter { names.contains($0.name) }
    }()

    /// Each pair of vendors once: the cases about moves choose their stages themselves.
    public static let pairs: [MigratingSubject] = all.filter { $0.stage == ($0.new.decides ? .live : .dualWrite) }

    /// The one that `xp conform` runs by default, alongside the vendors.
    public static let one = few.filter { $0.name == "sigma>flagship-bucketing@live" }
}

extension ConformanceSubject {
    fileprivate var decides: Bool { capabilities.contains(.flags) }
}

extension Vendor {
    /// Returns the subject with a name: a vendor, the in-memory provider, or a move at one of its stages.
    public static func played(_ name: String) -> (any ConformanceSubject)? {
        if let subject = everySubject.first(where: { $0.name == name }) { return subject }
        return name.contains("@") ? MigratingSubject.all.first { $0.name == name } : nil
    }
}
