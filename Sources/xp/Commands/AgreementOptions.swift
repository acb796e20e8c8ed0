import ArgumentParser

/// The options of `xp compare` that count which users would change variation.
struct AgreementOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The number of generated users to decide for.", valueName: "n"))
    var users: Int?

    @Option(help: ArgumentHelp("Your own users, in the format of xp evaluate.", valueName: "file"))
    var input: String?

    @Option(
        help: ArgumentHelp(
            "Which experiments and variations correspond, if their names differ: "
                + #"[{"from":…,"to":…,"variations":{from:to}}]."#,
            valueName: "file"
        )
    )
    var pairs: String?

    @Option(
        help: ArgumentHelp(
            "How many users see the mocks' experiments in each fault profile; 0 for none.",
            valueName: "n"
        )
    )
    var exposures: Int = 200

    /// Whether any of these options was given.
    var isAsked: Bool { users != nil || input != nil }

    func validate() throws {
        guard users == nil || input == nil else { throw ValidationError("--users and --input: expected one of them") }
        if let users, !(1...1_000_000_000).contains(users) {
            throw ValidationError("--users: expected a number from 1 to 1000000000")
        }
        guard (0...100_000).contains(exposures) else {
            throw ValidationError("--exposures: expected a number from 0 to 100000")
        }
        guard pairs == nil || isAsked else { throw ValidationError("--pairs requires --users or --input") }
    }
}
