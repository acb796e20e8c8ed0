import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import Testing
import Waiting

@Suite("A move keeps the promises of the vendor that leads")
struct MovingConformanceTests {
    private static let played = MigratingSubject.one.map(\.name)
    /// A few moves at one stage each; with `SOAK=1`, every move at every stage.
    private static let more = (isSoak ? MigratingSubject.all : MigratingSubject.few).map(\.name)
        .filter { !played.contains($0) }

    @Test("at the stage that `xp conform` plays", arguments: played, ConformanceCase.all)
    func usual(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("at other stages", arguments: more, ConformanceCase.all)
    func others(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    // The cases choose their stages, so each pair of vendors is tested once.
    @Test("a move keeps its own promises", arguments: MigratingSubject.pairs.map(\.name), ConformanceCase.moving)
    func moves(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    private func complaint(of subject: String, about conformanceCase: ConformanceCase) async throws -> String? {
        try await #require(Vendor.played(subject)).complaint(about: conformanceCase)
    }

    @Test("a move promises what its leader promises, and for events what the vendors that get them promise")
    func capabilities() throws {
        let all = Dictionary(uniqueKeysWithValues: MigratingSubject.all.map { ($0.name, $0.capabilities) })
        let flagship = try #require(Vendor.played("flagship-bucketing")).capabilities
        let sigma = SigmaSubject().capabilities
        let told: Set<Capability> = [.tracking, .batching, .consentSignal]
        #expect(all["flagship-bucketing>sigma@off"] == flagship)
        #expect(all["flagship-bucketing>sigma@shadow"] == flagship)
        #expect(all["flagship-bucketing>sigma@live"] == flagship.intersection(sigma).union(told))
        #expect(all["flagship-bucketing>sigma@rampDown"] == sigma.union(told))
        #expect(all["flagship-bucketing>sigma@complete"] == sigma)
        #expect(all["sigma>flagship-bucketing@dualWrite"] == sigma.union(told))
    }

    @Test("the few moves cover every kind of stage: the old leader, users of both, the new leader")
    func few() {
        #expect(
            MigratingSubject.few.map(\.name) == [
                "flagship-bucketing>sigma@shadow", "sigma>flagship-bucketing@live", "in-memory>flagship@rampDown",
            ]
        )
        #expect(MigratingSubject.few.map(\.stage.leader) == [.old, nil, .new])
        #expect(Set(MigratingSubject.all.map(\.name)).count == MigratingSubject.all.count)
    }
}
