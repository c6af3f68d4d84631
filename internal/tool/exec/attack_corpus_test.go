//go:build linux

package exec_test

import "strings"

// expandAll puts each value into each form, for the mark.
func expandAll(forms []string, mark string, values []string) (out []string) {
	for _, form := range forms {
		for _, value := range values {
			out = append(out, strings.ReplaceAll(form, mark, value))
		}
	}
	return out
}

// tableLines are the lines of a table; ⏎ is a line feed in one.
func tableLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return out
}

// runAttacks run a command that no rule allows, or forbids, within one that is allowed.
func runAttacks(string) []string {
	forms := tableLines(`
ls "${n:-'$(CMD)'}"
ls "${n-'$(CMD)'}"
ls "${HOME:+'$(CMD)'}"
ls "${n='$(CMD)'}"
ls "${n:-'@CMD@'}"
ls "${n:-$'$(CMD)'}"
ls ${n:-<(CMD)}
ls ${n:=<(CMD)}
ls ${n?<(CMD)}
ls ${HOME+>(CMD)}
ls ${HOME#<(CMD)}
ls ${HOME/a/<(CMD)}
ls >&'$(CMD)'
ls >&\$\(CMD\)
ls >&"\$(CMD)"
cat <<E⏎$@E⏎ls '$(CMD)'
cat <<E⏎${n-'$(CMD)'}⏎E
cat <<E⏎${n-⏎E⏎CMD⏎}E
cat <<E⏎$(CMD)⏎E
cat <<'E'⏎a⏎E⏎CMD
(ls ''#$(CMD)⏎)
(ls $n#$(CMD)⏎)
echo @'@;CMD;#'@
ls $(CMD)
ls "$(CMD)"
ls @CMD@
ls "@CMD@"
ls <(CMD)
ls >(CMD)
ls $((a[$(CMD)]))
ls $[a[$(CMD)]]
ls ${a[$(CMD)]}
ls "${a[@CMD@]}"
ls ${!n$(CMD)}
ls ${HOME:$(CMD)}
ls; CMD
ls && CMD
ls a || CMD
ls | CMD
ls & CMD
ls⏎CMD
ls |& CMD
ls;CMD
ls&CMD
ls \⏎;CMD
ls # a⏎CMD
ls # '⏎CMD⏎#'
ls ␍;CMD
ls a␍⏎CMD
echo a\⏎;CMD
echo 'a'"b"; CMD
echo '\'; CMD
echo "\\"; CMD
echo "\";$(CMD)"
echo \'; CMD; echo \'
echo \"; CMD; echo \"
echo $'\'';CMD;echo $'\''
echo $"$(CMD)"
echo {a,$(CMD)}
A=$(CMD) ls
A=@CMD@ ls
A=1 CMD
A[$(CMD)]=1 ls
ls 2>&1; CMD
ls 2>&1 >/dev/null && CMD
ls >/dev/null; CMD
ls > "$(CMD)"
ls < <(CMD)
cat <<< "$(CMD)"
cat <<< @CMD@
if ls; then CMD; fi
for i in a; do CMD; done
while CMD; do break; done
{ CMD; }
( CMD )
! CMD
time CMD
coproc CMD
ls() { CMD; }; ls
function ls { CMD; }; ls
case a in a) CMD;; esac
[[ -n $(CMD) ]]
[[ a[$(CMD)] -eq 0 ]]
((a[$(CMD)]))
'CMD'
echo a | xargs -I{} CMD
ls|CMD
ls ;⏎⏎ CMD
echo "a⏎"; CMD
echo a;#⏎CMD
echo a#;CMD
echo \#;CMD
echo \\#;CMD
export A=$(CMD)
echo ${n:=$(CMD)}
echo "${n:=$(CMD)}"
echo $'a' $(CMD)
echo "a"$(CMD)"b"
alias ls='CMD;'⏎ls
shopt -s expand_aliases⏎alias ls='CMD;#'⏎ls
eval 'CMD'
echo 'CMD' | sh
echo 'CMD' | bash
trap 'CMD' EXIT; ls
PROMPT_COMMAND='CMD' ls
BASH_ENV=a.txt ls; CMD
exec CMD
command CMD
env CMD
\CMD
builtin eval 'CMD'
`)
	for i, f := range forms {
		forms[i] = strings.NewReplacer("@", "`", "␍", "\r").Replace(f)
	}
	out := expandAll(forms, "CMD", []string{
		"touch PWNED", "rm victim", "/usr/bin/touch PWNED", "t''ouch PWNED", ">PWNED", "cat .env",
		"cat ../outside/secret.txt",
		"env touch PWNED",
	})
	return append(out, tableLines(`
make VPATH='$(shell touch PWNED)'
make '.DEFAULT_GOAL=$(shell touch PWNED)'
make 'A:=$(file >PWNED,y)'
make -f - <<< 'all:;touch PWNED'
make -f- <<< 'all:;touch PWNED'
make --eval='$(shell touch PWNED)'
make SHELL='touch PWNED;'
make -f a.txt --eval 'all:;touch PWNED'
MAKEFLAGS='--eval=$(shell touch PWNED)' make all
cd evil && git status
cd evil && git diff
cd evil; git status
git -C evil status
git --git-dir=evil status
GIT_DIR=evil git status
git diff --output=PWNED
git diff --no-index --output=PWNED a.txt hook
git diff --ext-diff
git -c core.fsmonitor='touch PWNED;' status
git -c diff.external='touch PWNED;' diff
GIT_EXTERNAL_DIFF='touch PWNED;' git diff --no-index a.txt hook
git status; touch PWNED
PAGER='touch PWNED;' git diff
PATH=.:$PATH; hook
hash -p ./hook ls; ls
enable -n echo; echo
`)...)
}

// spellings are ways to write the path FILE in the directory DIR.
var spellings = tableLines(`
FILE
./FILE
.//FILE
d/../FILE
l/FILE
l/../work/FILE
l/l/FILE
"FILE"
'FILE'
"$PWD/FILE"
$PWD/FILE
${PWD}/FILE
~+/FILE
DIR/FILE
DIR/../work/FILE
../work/FILE
$(echo FILE)
"$(echo FILE)"
${n:-FILE}
"${n:-FILE}"
/proc/self/cwd/FILE
/dev/fd/../cwd/FILE
{FILE,a.txt}
`)

func replaceDir(list []string, dir string) []string {
	for i, s := range list {
		list[i] = strings.ReplaceAll(s, "DIR", dir)
	}
	return list
}

// writeAttacks change what runs later: a hook or the configuration of git.
func writeAttacks(dir string) []string {
	writers := tableLines(`
echo x > P
echo x >> P
echo x >| P
echo x &> P
echo x 2>&1 1>P
echo x >& P
echo x 1<> P
>P
: > P
cat hook > P
cat < hook > P
cp hook P
cp -f hook P
cp -- hook P
cp --remove-destination hook P
mv hook P
mv -f hook P
ln -f hook P
ln -sf ../../hook P
ln -sfT ../../hook P
install hook P
install -m755 hook P
install -D hook P
rsync hook P
tee P < hook
echo x | tee P
echo x | tee -a P
dd if=hook of=P
dd of=P < hook
touch P; echo x > P
truncate -s 9 P
sed -i 's/^/x/' P; echo x >P
sed 'w P' hook
sed -n 'w P' hook
sed 's/x/y/w P' hook
sort -o P hook
sort -oP hook
sort --output=P hook
uniq hook P
split hook P
csplit -f P hook 1
shuf -o P hook
awk '{print > "P"}' hook
git archive -o P HEAD
git diff --output=P
git diff --no-index --output=P a.txt hook
git log --output=P
git show --output=P
git shortlog --output=P
git config -f P a.b c
git config --file=P a.b c
git bundle create P HEAD
/usr/bin/time -o P ls
curl -so P file://DIR/hook
curl -sD P file://DIR/hook
curl -s file://DIR/hook --output P
wget -qO P file://DIR/hook
gcc -MF P -M hook
tar cf P hook
tar -cf P hook
tar -cfP hook
tar czf P hook
zip P hook
gzip -c hook > P
xxd hook P
openssl rand -out P 9
patch -o P a.txt p.diff
diff a.txt hook > P
eval 'echo x > P'
sh -c 'echo x > P'
bash -c 'cp hook P'
env cp hook P
timeout 5 cp hook P
command cp hook P
xargs -I{} cp hook {} <<< P
echo P | xargs cp hook
find hook -exec cp {} P ;
find . -maxdepth 1 -name hook -fprint P
x=P; echo x > $x
x=P; cp hook $x
x=P; cp hook "$x"
ls > P 2>&1
script -qc ls P
nohup cp hook P
set -o noclobber; ls > P
exec 3>P; ls >&3
exec > P; ls
{ ls; } > P
(ls) > P
for i in P; do cp hook $i; done
strace -o P ls
unlink P
rm -f P; cp hook P
`)
	out := expandAll(expandAll(writers, "P", spellings), "FILE", []string{".git/hooks/README", ".git/config"})
	out = append(out, expandAll(writers, "P", tableLines(`
g/pre-commit
l/g/pre-push
g/../config
l/g/../config
g/../hooks/x
.git/hooks/x
.git/hook?/README
.git/h*/README
.git/{hooks,}/README
.GIT/hooks/x
.g''it/hooks/x
.git/./hooks/../hooks/x
d/../.git/hooks/x
c
./c
l/c
`))...)
	out = append(out, tableLines(`
cp -rt .git/hooks hook
cp -t .git/hooks hook
cp -vt.git/hooks hook
cp --target-directory=.git/hooks hook
cp --target-d=.git/hooks hook
cp hook $HOME/.profile
cp hook "$HOME/.profile"
cp hook $N$HOME/.bashrc
tee $HOME/.profile < hook
cp hook .git/hooks
cp hook .git/hooks/
cp hook g
cp hook g/
cp hook g/.
mv hook .git/hooks
mv -t .git/hooks hook
ln hook .git/hooks
ln -t .git/hooks hook
install -Dt .git/hooks hook
install -t .git/hooks hook
install hook .git/hooks
rsync -a hook .git/hooks/
cd .git/hooks && cp ../../hook x
cd .git/hooks; echo x > x
cd .git && echo x > hooks/x
cd .git && echo x >> config
cd g; echo x > x
cd g/..; echo x >> config
cd g && echo x > ../config
pushd .git/hooks; echo x > x
(cd .git/hooks; echo x > x)
env -C .git/hooks cp ../../hook x
command cd .git/hooks; echo x > x
builtin cd .git/hooks; echo x > x
eval 'cd .git/hooks'; echo x > x
cd -- .git/hooks; echo x > x
cd -P .git/hooks; echo x > x
c? .git/hooks; echo x > x
cp hook /dev/stdin < .git/hooks
cp hook /dev/stdin/x < .git/hooks
cp hook /dev/fd/0/x < g
cp hook proc/cwd/.git/hooks/x
cp hook proc/fd/../cwd/.git/hooks/x
cp hook /proc/self/c*/.git/hooks/x
cp hook /proc/self/task/../cwd/.git/hooks/x
mkdir m; cp hook m/../.git/hooks/x
sed -n 'w.git/config' hook
sed -n '1w.git/hooks/x' hook
sed 's/s/t/w.git/config' hook
sed -n 'wcairn.json' hook
git -C .git/hooks config -f x a.b c
exec 3<.git/hooks; cp hook /dev/fd/3/x
cp hook /proc/self/fd/3/x 3<.git/hooks
cp hook /dev/fd/3/x 3< .git/hooks
cp hook /proc/self/cwd/.git/hooks/x
cp hook /proc/self/root/DIR/.git/hooks/x
git clone -q . .git/hooks/c
git init -q .git/hooks/c
git worktree add .git/hooks/c
git checkout-index --prefix=.git/hooks/ -a
git --work-tree=.git/hooks checkout-index -af
git --work-tree .git/hooks checkout -f
git apply -p0 --unsafe-paths --directory=.git/hooks p.diff
git format-patch -o .git/hooks HEAD
tar xf o.tar -C .git/hooks
tar -C .git/hooks -cf x ../../hook
unzip -d .git/hooks x.zip
mkdir .git/hooks/x && touch .git/hooks/x/y
rm -r .git/hooks; cp -r d .git/hooks
mv .git/hooks x; mv d .git/hooks
mv .git x; mv d .git
rm -rf .git; ln -s d .git
split hook .git/hooks/x
csplit -f .git/hooks/x hook 1
find . -maxdepth 1 -name hook -exec cp {} .git/hooks ;
find hook -fprintf .git/hooks/x a
chmod +x .git/hooks/README; echo x > .git/hooks/README
echo x > cairn.json
echo {} > ./cairn.jsonc
echo x > d/../cairn.json
cp hook cairn.json
tee cairn.json < hook
echo x > CAIRN.json
`)...)
	return replaceDir(out, dir)
}

// outsideAttacks read or write beside the project.
func outsideAttacks(dir string) []string {
	forms := tableLines(`
cat P/secret.txt
cat < P/secret.txt
cat <P/secret.txt
head -n1 P/secret.txt
grep S P/secret.txt
grep -r S P
grep -rh S P/
sed -n p P/secret.txt
cp P/secret.txt out
cp -r P out
ln -s P/secret.txt out; cat out
tar cf - P
tar -cf o.tar P
tar -C P -cf - secret.txt
tar -CP -cf - secret.txt
tar --directory=P -cf - secret.txt
find P -type f -exec cat {} +
find P -name 'secret*' | xargs cat
cd P; cat secret.txt
cd P && cat secret.txt
cd P⏎cat secret.txt
(cd P; cat secret.txt)
pushd P; cat secret.txt
env -C P cat secret.txt
git -C P diff --no-index /dev/null secret.txt
git diff --no-index /dev/null P/secret.txt
git diff --no-index a.txt P/secret.txt
diff a.txt P/secret.txt
diff --from-file=P/secret.txt a.txt
dd if=P/secret.txt
xargs -a P/secret.txt
xargs cat <<< P/secret.txt
echo P/secret.txt | xargs cat
x=P; cat $x/secret.txt
x=P; cat "$x"/secret.txt
x=P && cd $x && cat secret.txt
read x <<< P; cat $x/secret.txt
cat "$(echo P)/secret.txt"
cat P/*
cat P/s*t
exec 3<P/secret.txt; cat <&3
. P/secret.txt; echo SECRET=$SECRET
curl -s file://P/secret.txt
echo x > P/PWNED2
echo x >> P/secret.txt
cp a.txt P/x
cp a.txt P
cp -t P a.txt
cp -tP a.txt
mv a.txt P
touch P/x
tee P/x < a.txt
mkdir P/x; touch P/x/y
rm P/secret.txt
rm -rf P/home
ln a.txt P/x
tar -cf P/x a.txt
tar -cfP/x a.txt
sort -oP/x a.txt
sort -o P/x a.txt
dd if=a.txt of=P/x
truncate -s1 P/x
ls > P/x
ls >P/x
ls &>P/x
ls >& P/x
sed -i s/S/T/ P/secret.txt
git init -q P/x
git clone -q . P/x
install -D a.txt P/y/x
mkdir -p P/y/x; touch P/y/x/z
git init -q P/y/x
split a.txt P/y
sh -c 'mkdir -p P/y/x; touch P/y/x/z'
env cp a.txt P/y
sh -c 'cat P/secret.txt'
env cat P/secret.txt
timeout 5 cat P/secret.txt
cat -- P/secret.txt
wc -c P/secret.txt; cat P/secret.txt
`)
	links := tableLines(`
rg -L SECRET
rg --follow SECRET .
rg -uuL SECRET d o
diff -rN d .
tar chf - d o
tar -h -cf - .
tar --dereference -cf - .
cp -rL . d/q; cat d/q/o/secret.txt
cp -RL d/.. ../q; cat ../q/o/secret.txt
grep -Rh SECRET d ./o
grep -hR SECRET .
sh -c 'rg -L SECRET'
`)
	return append(replaceDir(expandAll(forms, "P", tableLines(`
../outside
./../outside
d/../../outside
l/../outside
l/l/../outside
o
./o
l/o
d/../o
o/.
o/home/..
"../outside"
'../outside'
..//outside
../out''side
../outsid?
../o*
../{outside,}
"$PWD/../outside"
$PWD/../outside
${PWD%/*}/outside
$(dirname "$PWD")/outside
"$(dirname "$PWD")"/outside
~/..
~+/../outside
"$HOME/.."
$HOME/..
${HOME}/..
DIR/../outside
DIR/o
DIR/l/../outside
/proc/self/cwd/../outside
/dev/fd/../cwd/../outside
/proc/self/root/DIR/../outside
`)), dir), links...)
}

// redirectAttacks make a file where editing is denied.
var redirectAttacks = tableLines(`
ls > PWNED
ls >PWNED
ls 2> PWNED
ls 2>>PWNED
ls 1>PWNED
git diff > PWNED
echo a >> PWNED
echo a >| PWNED
echo a &> PWNED
echo a >& PWNED
cat a.txt 1<> PWNED
ls > PWNED 2>&1
ls 2>&1 > PWNED
ls > 'PWNED'
ls > "PWNED"
ls > d/PWNED
ls > $PWD/PWNED
> PWNED
> PWNED ls
`)
