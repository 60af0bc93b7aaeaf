# Makes two projects, the public `ops` and the private `priv`. Both have a manager, and a reporter who may set nothing private. An
# outsider has an account and no role. Prints their keys. `priv` has more members than Redmine lists in one answer; Late is the last
# one.
Setting.rest_api_enabled = '1'
Setting.attachment_max_size = '5120'

def user(login)
  u = User.find_by_login(login) || User.new(mail: "#{login}@example.test", firstname: login.capitalize, lastname: 'T')
  u.login = login
  u.status = User::STATUS_ACTIVE
  u.language = 'en'
  u.password = u.password_confirmation = SecureRandom.hex(12)
  u.save!
  u
end

manager, reporter, outsider = user('manager'), user('reporter'), user('outsider')
roles = { manager => Role.find_by_name('Manager'), reporter => Role.find_by_name('Reporter') }
roles[reporter].remove_permission!(:set_issues_private, :set_own_issues_private, :set_notes_private)
roles[reporter].add_permission!(:add_issues, :add_issue_notes)
{ 'ops' => true, 'priv' => false }.each do |name, is_public|
  p = Project.new(name: name.capitalize, identifier: name)
  p.is_public = is_public
  p.enabled_module_names = %w[issue_tracking]
  p.trackers = Tracker.all
  p.save!
  roles.each { |u, role| Member.create!(project: p, principal: u, roles: [role]) }
  Issue.create!(project: p, tracker: p.trackers.first, author: manager, subject: 'slow pushes',
                priority: IssuePriority.first, status: IssueStatus.first)
end
priv = Project.find('priv')
crowd = (1..120).map do |n|
  { login: "crowd#{n}", firstname: 'Crowd', lastname: n.to_s, status: User::STATUS_ACTIVE, type: 'User', language: 'en' }
end
User.insert_all(crowd)
ids = User.where('login LIKE ?', 'crowd%').order(:id).ids
Member.insert_all(ids.map { |id| { user_id: id, project_id: priv.id } })
role = Role.find_by_name('Reporter')
MemberRole.insert_all(Member.where(user_id: ids).ids.map { |id| { member_id: id, role_id: role.id } })
Member.create!(project: priv, principal: user('late'), roles: [role])
[manager, reporter, outsider].each { |u| puts "REDMINE_KEY_#{u.login}=#{u.api_key}" }
