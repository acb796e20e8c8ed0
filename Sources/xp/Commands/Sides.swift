import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// The two sides of an agreement: two vendors with their mocks, or two rules files.
struct Sides {
    let before: Decider
    let after: Decider
    private let subjects: [any ConformanceSubject]
    private let stages: [any SubjectStage]
    private let world: World

    /// The users to draw; for vendors, they resemble the world's users, whose attributes its rules ask for.
    var population: Population { Population(like: subjects.isEmpty ? [] : world.users) }

    init(_ from: String, _ to: String, _ world: World, largestRules: Int) async throws {
        self.world = world
        let files = [from, to].filter { name in
            !Vendor.everySubject.contains { $0.name == name } && FileManager.default.fileExists(atPath: name)
        }
        guard files.count != 1 else {
            throw Failure(.usage, "--from and --to: expected two vendors or two rules files, found one of each")
        }
        var deciders: [Decider] = []
        var stages: [any SubjectStage] = []
        do {
            if files.isEmpty {
                subjects = try Chosen.subjects([from, to], orElse: [])
                for subject in subjects {
                    guard subject.capabilities.contains(.experiments) else {
                        let reason = subject.reasons[.experiments] ?? "it has no experiments"
                        throw Failure(.checkFailed, "\(subject.name) assigns no users to experiments: \(reason)")
                    }
                    let stage = try await subject.open(world)
                    stages.append(stage)
                    deciders.append(
                        try await Decider(
                            name: subject.name,
                            provider: stage.makeProvider(),
                            experiments: world.testedExperiments
                        )
                    )
                }
            } else {
                subjects = []
                for path in [from, to] {
                    let bytes = try InputFile.bytes(of: path, atMost: largestRules)
                    deciders.append(try await RuleFile.decider(bytes, named: path))
                }
            }
        } catch {
            for stage in stages { await stage.close() }
            guard let error = error as? ExperimentationError else { throw error }
            throw error.code == .parseError ? Failure(.input, error.message) : Failure(error)
        }
        self.stages = stages
        (before, after) = (deciders[0], deciders[1])
    }

    /// Plays every fault profile with each vendor; returns nothing for rules files, which record no exposures.
    func exposures(users: Int) async -> [ExposureRatio] {
        guard users > 0 else { return [] }
        var ratios: [ExposureRatio] = []
        for subject in subjects {
            let trial = ExposureTrial(of: subject, in: world, users: users)
            for profile in FaultProfile.allCases {
                Terminal.progress("\(subject.name): exposures, \(profile.title)")
                let found = await trial.play(profile)
                ratios += found
                // Without exposures, the other profiles would show the same.
                if !subject.capabilities.contains(.exposures) { break }
            }
        }
        return ratios
    }

    func close() async { for stage in stages { await stage.close() } }
}
