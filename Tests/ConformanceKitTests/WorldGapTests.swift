import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("What a gap says about the vendor")
struct WorldGapTests {
    private static let world = World(
        name: "gaps",
        flags: [
            .init("plain", "a"), .init("off", "a", isDisabled: true),
            .init("theme", ["a": 1]), .init("broken", "a", isMalformed: true),
            .init("ruled", 1, rules: [.init(when: [.init("plan", .equals, "pro")], value: 2)]),
        ],
        experiments: [
            .init("whole", variations: [.init("a", weight: 40), .init("b", weight: 60)]),
            .init("part", variations: [.init("a", weight: 40), .init("b", weight: 30)], forced: ["ada": "a"]),
        ]
    )

    @Test(
        "it denies the capability of its path; a part of the world that no capability stands for denies none",
        arguments: [
            ("flags", .flags), ("flags/plain", .flags), ("flags/off", .flags), ("flags/theme", .objectFlags),
            ("flags/ruled", .targeting), ("flags/broken", nil), ("flags/off/disabled", nil),
            ("flags/plain/disabled", .flags), ("experiments", .experiments), ("experiments/part", .experiments),
            ("experiments/part/traffic", nil), ("experiments/whole/traffic", .experiments),
            ("experiments/part/forced", nil), ("experiments/whole/forced", .experiments),
            ("experiments/part/targeting", .targeting), ("experiments/part/sticky", .stickyAssignments),
            ("experiments/part/layer", .layers), ("holdouts", .holdouts), ("campaigns/spring", .campaigns),
            ("killSwitch", .killSwitch), ("lifetime", nil),
        ] as [(String, Capability?)]
    )
    func denied(_ path: String, _ capability: Capability?) {
        #expect(WorldGap(path, "there is no place").denied(in: Self.world) == capability)
    }

    @Test("the guide's table names no gap that fails a subject for declaring it")
    func declared() async throws {
        for (name, path) in [
            ("reasons/switched-off-flag", "flags/off-duty/disabled"),
            ("experiments/a-part-of-the-traffic", "experiments/checkout/traffic"),
            ("experiments/forced-by-the-vendor", "experiments/checkout/forced"),
        ] {
            let known = try #require(ConformanceCase.all.first { $0.name == name })
            let subject = BentSubject(bend: .init(gaps: { _ in [WorldGap(path, "there is no place")] }))
            let outcome = await ConformanceRunner().run(known, against: subject).outcome
            #expect(outcome == .unsupported("\(path): there is no place"))
        }
    }

    @Test("a gap contradicts what is declared only in a case that needs what it covers")
    func contradiction() async throws {
        let subject = BentSubject(bend: .init(gaps: { _ in [WorldGap("flags/welcome", "there is no place")] }))
        func outcome(_ name: String) async throws -> Outcome {
            let known = try #require(ConformanceCase.all.first { $0.name == name })
            return await ConformanceRunner().run(known, against: subject).outcome
        }
        #expect(try await outcome("experiments/everybody-in-one-variation") == .passed)
        let message = #"bent declares "flags" and has a gap there: flags/welcome: there is no place"#
        #expect(try await outcome("snapshots/changed-value").reason == message)
    }
}
