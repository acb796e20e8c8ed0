import Experimentation

/// The remote switches of both vendors; the application is disabled only by a vendor that leads all users.
struct MigratingSwitch: RemoteSwitch {
    let migration: Migration

    func ask() async -> RemoteSwitchAnswer {
        var result = RemoteSwitchAnswer(isOff: nil, wait: .seconds(3_600))
        for side in MigrationSide.allCases {
            let party = migration.party(side)
            guard let answer = await party.roles.remoteSwitch?.ask() else { continue }
            result.wait = min(result.wait, answer.wait)
            guard let isOff = answer.isOff else { continue }
            await party.setOff(isOff)
            if migration.stage.leader == side { result.isOff = isOff }
        }
        return result
    }
}
